"""Takes the limits away one by one, and names the test that fails.

Run ``python tests/support/limits_removed.py [NAME ...]``.

In a scratch copy of the project each limit is set to a value as good as none, and the tests that hold it are run.
It takes some minutes, and ends with 1 if a limit is held by no test. `make test-long` runs the same as tests, in
several processes: ``tests/test_limits_removed.py``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import cache_from_source
from pathlib import Path

ROOT = Path(__file__).parents[2]
WIRE = "sdk/getstep/wire/_limits.py"
SERVER = "server/getstep_server/limits.py"
SESSION = "server/getstep_server/net/connection.py"
REFEREE = "sdk/getstep/referee/limits.py"
DISCOVERY = "sdk/getstep/client/discovery/limits.py"
LIMITS = (WIRE, SERVER, REFEREE, DISCOVERY)
SECONDS = 90.0
"""A test that has not failed by then does not hold anything."""

ALL_SECONDS = 900.0
"""For all the tests that hold a limit, one after another."""

PATIENCE_SECONDS = 30.0
"""The patience of the tests while all limits are in place."""

IN_VAIN_SECONDS = 10.0
"""Their patience without a limit, which many of them show by waiting in vain."""

_HOME = ("sdk", "server", "engines", "bots", "conformance", "training")
_WIRE = "tests/sdk/test_wire_limits.py::"
_BOUND = _WIRE + "test_one_more_is_too_much"
_HERE = "tests/server/test_limits.py::"
_ATTACK = "tests/server/test_attack.py::"
_DOOR = "tests/server/test_login_limits.py::"
_FLOODS = "tests/server/test_incidents.py::"
_LOG = "tests/server/test_contest_log.py::"
_ALIVE = "tests/server/test_listener.py::test_a_dead_connection_is_noticed_after_half_a_minute"
_SESSION = "tests/server/test_connection.py::"
_BOARD = "tests/server/test_poller.py::"
_DOORWAY = "tests/server/test_listener.py::"
_POSTGRES = "tests/server/test_postgres.py::"
_PAGE = "tests/server/test_web_http.py::"
_PAGE_TLS = "tests/server/test_web_tls.py::"
_API = "tests/server/test_api.py::"
_TOPICS = "tests/server/test_web_topics.py::"
_FIND = "tests/sdk/test_discovery.py::"
_PEOPLE = "tests/server/test_web_people.py::"
_FRIENDLY = "tests/server/test_web_friendly.py::"
_PLAYS = "tests/server/test_sandbox.py::test_the_limits_of_a_program_that_plays"
_OWN = "tests/server/test_web_own.py::"
_ANALYSES = "tests/server/test_web_analyses.py::"
_SUBMIT = "tests/server/test_web_submissions.py::"
_NOTES = "tests/sdk/test_wire_limits.py::test_of_notes_one_more_is_left_out"
_PLAYING = "tests/server/test_playing.py::"
_LOGINS = "tests/server/test_login_queue.py::"
_STORE = "tests/server/test_program_store.py::"
_SOURCE = "tests/server/test_program_source.py::"
_ADDING = "tests/server/test_program_adding.py::"
_ORDER = "tests/server/test_cluster_order.py::"
_WORKER = "tests/server/test_cluster_worker.py::"
_CLUSTER = "tests/server/test_cluster.py::"

_INVITED = "tests/server/test_invitations.py::"
_STANDBY = "tests/server/test_standby.py::"

REMOVED: dict[str, tuple[str, ...]] = {
    # name: the value that removes it, the tests that hold it
    "MAX_STANDBY_FRAME_BYTES": ("10**9", f"{_STANDBY}test_a_frame_that_claims_too_much_is_refused_by_its_head"),
    "MAX_STANDBYS": ("10**6", f"{_STANDBY}test_few_copies_are_kept_at_the_same_time"),
    "STANDBY_BODY_BYTES": ("10**9", f"{_STANDBY}test_what_a_copy_has_is_bounded"),
    "MAX_INVITATIONS": ("10**6", f"{_INVITED}test_a_contest_keeps_so_many_invitations"),
    "MAX_INVITATIONS_FILE_BYTES": ("10**9", f"{_INVITED}test_the_file_of_invitations_has_a_bounded_size"),
    "MAX_INVITATION_DAYS": ("10**9", f"{_INVITED}test_what_cannot_be_is_refused"),
    "SIGN_UPS_PER_ADDRESS": ("10**6", f"{_INVITED}test_so_many_teams_of_one_address_sign_up"),
    "SIGN_UP_SECONDS": ("0", f"{_INVITED}test_so_many_teams_of_one_address_sign_up"),
    "SIGN_UPS_KEPT": ("10**6", f"{_INVITED}test_so_many_answers_are_kept"),
    "PAGE_REQUESTS_PER_SECOND": ("1e9", f"{_PAGE}test_one_address_sends_so_many_requests"),
    "INCIDENT_ROWS_KEPT": ("10**6", "tests/server/test_incidents.py::test_rows_of_earlier_runs_are_bounded"),
    "MAX_OPEN_QUESTIONS": ("10**6", "tests/server/test_messages.py::test_so_many_questions_of_a_team_wait"),
    "PAGE_BURST_SECONDS": ("10**9", f"{_PAGE}test_one_address_sends_so_many_requests"),
    "TEAM_PROGRAM_BYTES": ("10**12", f"{_STORE}test_versions_keep_their_files_up_to_200_mb"),
    "SUBMISSIONS_A_DAY": ("10**6", f"{_SUBMIT}test_a_team_submits_so_many_in_a_day"),
    "TOKENS_A_DAY": ("10**6", f"{_OWN}test_a_team_replaces_its_token_so_often_in_a_day"),
    "MAX_CLIENT_FRAME": ("10**6", f"{_BOUND}[a client's frame]"),
    "MAX_LOGIN_FRAME": ("10**6", f"{_BOUND}[a frame before the login]"),
    "MAX_SERVER_FRAME": ("10**6", f"{_WIRE}test_a_servers_frame_is_refused_by_its_header"),
    "MAX_DEPTH": ("10**6", f"{_BOUND}[depth]"),
    "MAX_ARRAY": ("10**6", f"{_BOUND}[an array]"),
    "MAX_OPENING": ("10**6", f"{_WIRE}test_an_opening_of_one_move_more_is_refused"),
    "MAX_MAP": ("10**6", f"{_BOUND}[a map]"),
    "MAX_TEXT": ("10**6", f"{_WIRE}test_a_text_of_one_character_more_is_a_fault"),
    "MAX_NAME": ("10**6", f"{_BOUND}[a name]"),
    "MAX_TEXT_BYTES": ("10**6", f"{_BOUND}[a string]"),
    "MAX_TEAM": ("2**64", f"{_BOUND}[a team]"),
    "MAX_ID": ("2**64", f"{_BOUND}[a version]"),
    "MAX_MS": ("2**64", f"{_BOUND}[a time]"),
    "NOTES_BYTES": ("10**6", "tests/sdk/test_notes.py::test_the_notes_of_a_move_have_at_most_3584_bytes"),
    "MATCH_NOTES_BYTES": (
        "10**9",
        "tests/server/test_notes.py::test_each_player_has_128_kb_in_a_match_also_if_it_is_resumed[False]",
    ),
    "MAX_SAY": ("10**6", f"{_NOTES}[say]"),
    "MAX_DRAWINGS": ("10**6", f"{_NOTES}[drawings]"),
    "MAX_DRAWN_SQUARES": ("10**6", f"{_NOTES}[squares]"),
    "MAX_ARROW_SQUARES": ("10**6", f"{_NOTES}[arrow]"),
    "MAX_COORDINATE": ("1000", f"{_NOTES}[coordinate]"),
    "MAX_LABEL": ("10**6", f"{_NOTES}[label]"),
    "MAX_TAGS": ("10**6", f"{_NOTES}[tags]"),
    "MAX_TAG": ("10**6", f"{_NOTES}[tag]"),
    "LOGIN_SECONDS": ("1e9", f"{_SESSION}test_a_login_has_ten_seconds"),
    "FRAME_SECONDS": ("1e9", f"{_SESSION}test_a_frame_has_five_seconds"),
    "LINGER_SECONDS": ("1e9", f"{_HERE}test_a_client_that_does_not_close_after_goodbye_is_cut_off"),
    "LINGER_BYTES": ("10**12", f"{_HERE}test_a_client_that_sends_after_goodbye_is_cut_off"),
    "SHUTDOWN_SECONDS": ("1e9", f"{_SESSION}test_the_end_of_a_contest_waits_six_seconds"),
    "RECEIVE_BYTES": ("10**6", "tests/server/test_timestamps.py::test_a_flood_is_accepted_in_parts"),
    "CLOCK_STEP_SECONDS": (
        "1e9",
        "tests/server/test_timestamps.py::test_a_stamp_from_before_the_second_step_has_its_age_too",
    ),
    "READ_SECONDS": ("1e9", f"{_BOARD}test_a_batch_ends_when_its_time_is_up[teams]"),
    "LOGIN_READ_SECONDS": ("1e9", f"{_BOARD}test_a_batch_ends_when_its_time_is_up[logins]"),
    "ACCEPT_SECONDS": ("1e9", f"{_DOORWAY}test_the_other_tasks_get_their_turn_in_time"),
    "LOGIN_SHARE": ("1e9", f"{_DOORWAY}test_during_matches_accepting_has_its_share_of_the_time"),
    "LOGIN_BURST_SECONDS": (
        "1e9",
        f"{_DOORWAY}test_during_matches_accepting_has_its_share_of_the_time",
    ),
    "CONNECTION_COSTS": ("0", f"{_DOORWAY}test_during_matches_accepting_has_its_share_of_the_time"),
    "READS_AT_ONCE": ("10**6", "tests/server/test_poller.py::test_the_other_tasks_get_their_turn"),
    "ACCEPTS_AT_ONCE": ("10**9", "tests/server/test_listener.py::test_the_other_tasks_get_their_turn"),
    "KEEPALIVE_IDLE_SECONDS": ("7200", _ALIVE),
    "KEEPALIVE_EVERY_SECONDS": ("7200", _ALIVE),
    "KEEPALIVE_TRIES": ("100", _ALIVE),
    "MAX_CONNECTIONS": ("10**9", f"{_HERE}test_so_many_connections_and_no_more[all addresses]"),
    "MAX_CONNECTIONS_PER_ADDRESS": ("10**9", f"{_HERE}test_so_many_connections_and_no_more[one address]"),
    "SPARE_FILES": (
        "-(10**9)",
        "tests/server/test_listener.py::test_connections_leave_descriptors_free_for_files",
    ),
    "FULL_PAUSE_SECONDS": ("0", f"{_DOORWAY}test_a_full_file_table_is_tried_again_after_a_pause"),
    "ACCEPT_SHARE": ("1e9", f"{_DOORWAY}test_during_matches_the_door_itself_has_its_share"),
    "IDLE_LOGIN_SHARE": ("1e9", f"{_LOGINS}test_while_no_match_is_played_half_of_the_time_is_left"),
    "MAX_WAITING_CONNECTIONS": ("10**9", f"{_LOGINS}test_so_many_bots_of_one_address_may_wait"),
    "MAX_FILTERED_SOURCES": ("10**9", f"{_LOGINS}test_the_filter_has_a_bounded_length"),
    "FILTER_SECONDS": ("0", f"{_DOORWAY}test_the_filter_changes_after_a_pause"),
    "BLOCKED_SECONDS": ("0", f"{_LOGINS}test_an_address_may_have_so_many_connections_waiting"),
    "BAD_LOGIN_FIRST_SECONDS": ("0", f"{_DOOR}test_wrong_logins_wait_longer_each_time_and_not_for_ever"),
    "BAD_LOGIN_LONGEST_SECONDS": ("1e9", f"{_DOOR}test_wrong_logins_wait_longer_each_time_and_not_for_ever"),
    "BAD_LOGIN_FORGET_SECONDS": ("0", f"{_DOOR}test_wrong_logins_wait_longer_each_time_and_not_for_ever"),
    "MAX_ADDRESSES_KEPT": ("10**9", f"{_DOOR}test_wrong_logins_are_remembered_of_so_many_addresses_and_no_more"),
    "KNOWN_ADDRESSES_PER_SEAT": ("10**9", f"{_LOGINS}test_a_team_has_four_known_addresses_for_each_seat"),
    "LOGINS_PER_WINDOW": ("10**9", f"{_DOOR}test_a_team_may_log_in_so_often_in_so_long"),
    "LOGIN_WINDOW_SECONDS": ("0", f"{_DOOR}test_a_team_may_log_in_so_often_in_so_long"),
    "CLASSIC_REFUSAL_SECONDS": ("0", f"{_ATTACK}test_the_clocks_are_protocol_md_s[a refusal]"),
    "CLASSIC_MAX_SQUARES": (
        "10**6",
        "tests/server/test_classic_codec.py::test_numbers_out_of_range_are_a_bad_field[a count of 101]",
    ),
    "MAX_STALE_ANSWERS": ("10**9", f"{_HERE}test_stale_answers_of_a_classic_client_come_to_an_end"),
    "STALLED_MISSES": (
        "10**9",
        "tests/server/test_judge_stalled.py::test_an_endless_loop_costs_the_opponent_three_limits",
    ),
    "ABSENT_MISSES": ("10**9", "tests/server/test_judge.py::test_three_misses_without_a_connection_lose"),
    "MAX_EVENTS": ("10**6", "tests/server/test_contest.py::test_too_many_events"),
    "MAX_MATCHES": ("10**12", f"{_HERE}test_settings_may_ask_for_so_many_matches_and_no_more"),
    "MAX_SEATS": ("10**6", "tests/server/test_teams_file.py::test_a_mistake_in_teams_toml[too many seats]"),
    "MAX_TEAMS": ("10**6", "tests/server/test_teams_file.py::test_too_many_teams"),
    "MAX_CONFIG_BYTES": ("1 << 24", "tests/server/test_toml.py::test_a_file_that_is_too_large"),
    "NO_SHOWS_UNTIL_FINAL": (
        "10**9",
        "tests/server/test_director_late.py::test_a_team_that_arrives_and_leaves_loses_in_the_end",
    ),
    "WORKER_TRIES": ("10**9", f"{_CLUSTER}test_a_contest_stops_if_every_worker_fails"),
    "LOST_ATTEMPTS": ("10**9", f"{_CLUSTER}test_a_contest_stops_if_every_worker_fails"),
    "WORKER_FAILURES": ("10**9", f"{_CLUSTER}test_a_worker_that_fails_again_and_again_rests"),
    "MATCH_ATTEMPTS": (
        "10**9",
        "tests/server/test_containment.py::test_a_match_that_always_fails_stops_the_contest_with_a_message",
    ),
    "MAX_PAGE_CONNECTIONS": ("10**9", f"{_PAGE}test_all_addresses_together_have_so_many_connections"),
    "MAX_PAGE_CONNECTIONS_PER_ADDRESS": ("10**9", f"{_PAGE}test_one_address_has_so_many_connections"),
    "PAGE_HEAD_BYTES": ("10**6", f"{_PAGE}test_a_head_has_at_most_16_kib"),
    "MAX_PAGE_UPLOADS": ("10**6", f"{_PAGE}test_four_long_bodies_are_read_at_a_time_and_one_of_each_team"),
    "PAGE_UPLOAD_SECONDS": ("10.0**6", f"{_PAGE}test_a_long_body_has_two_minutes"),
    "MAX_SUBMISSIONS_WAITING": ("10**6", f"{_SUBMIT}test_so_many_wait_and_so_much_memory"),
    "SUBMISSIONS_WAITING_BYTES": ("10**12", f"{_SUBMIT}test_so_many_wait_and_so_much_memory"),
    "SUBMISSION_SECONDS": ("10.0**6", f"{_SUBMIT}test_a_worker_that_does_not_end_is_ended"),
    "SUBMISSION_LINES": ("10**6", f"{_SUBMIT}test_the_lines_are_bounded"),
    "MAX_ANALYSES_WAITING": ("10**6", f"{_ANALYSES}test_a_team_has_one_at_a_time_and_so_many_wait"),
    "ANALYSES_A_DAY": ("10**6", f"{_ANALYSES}test_a_team_has_a_quota_for_24_hours"),
    "ANALYSIS_SECONDS": ("10.0**6", f"{_ANALYSES}test_an_analysis_that_does_not_end_has_failed"),
    "ANALYSES_KEPT": ("10**6", f"{_ANALYSES}test_the_oldest_files_are_deleted"),
    "CHILD_LINE_BYTES": ("10**9", f"{_SUBMIT}test_a_worker_that_writes_a_line_without_end_has_failed"),
    "DATABASE_DOUBT_SECONDS": ("10.0**6", f"{_POSTGRES}test_a_lost_answer_that_cannot_be_found_out_ends_the_run"),
    "HEADED_TEXT_BYTES": ("10**9", "tests/server/test_headed_text.py::test_a_game_takes_at_most_16_mib"),
    "MAX_JSON_DEPTH": ("10**6", "tests/server/test_json_text.py::test_a_text_may_be_nested_254_deep_and_no_more"),
    "DATABASE_CONNECT_SECONDS": ("10**6", f"{_POSTGRES}test_a_server_that_says_nothing_is_given_up"),
    "PAGE_BODY_BYTES": ("10**6", f"{_PAGE}test_a_body_has_at_most_4_kib"),
    "PAGE_REQUEST_SECONDS": ("1e9", f"{_PAGE}test_a_request_has_ten_seconds"),
    "MAX_PAGE_HANDSHAKES": ("10**6", f"{_PAGE_TLS}test_so_many_handshakes_happen_at_a_time"),
    "PAGE_HANDSHAKE_SECONDS": ("1e9", f"{_PAGE_TLS}test_a_handshake_has_ten_seconds"),
    "MAX_FORWARDED": ("10**6", "tests/server/test_proxies.py::test_a_list_of_addresses_has_at_most_sixteen"),
    "PAGE_IDLE_SECONDS": ("1e9", f"{_PAGE}test_the_next_request_has_thirty_seconds"),
    "PAGE_SEND_SECONDS": ("1e9", f"{_PAGE}test_a_client_that_does_not_read_is_dropped_after_ten_seconds"),
    "PAGE_SEND_BUFFER": ("1 << 24", f"{_PAGE}test_the_kernel_keeps_little_for_a_client_that_does_not_read"),
    "MAX_SUBSCRIBERS_PER_ADDRESS": ("10**9", f"{_TOPICS}test_one_address_cannot_take_all_places"),
    "MAX_SUBSCRIBERS": ("10**9", f"{_TOPICS}test_so_many_spectators_get_events"),
    "MAX_TOPICS": ("10**9", f"{_TOPICS}test_so_many_topics_are_kept"),
    "TOPIC_SECONDS": ("0", f"{_TOPICS}test_a_topic_is_built_for_its_subscribers_only"),
    "PAGE_BYTES_PER_SECOND": ("10**12", f"{_TOPICS}test_many_bytes_are_sent_less_often"),
    "API_PAGE_ITEMS": ("10**9", f"{_API}test_a_refusal_is_json_with_a_reason"),
    "API_SCANNED_MATCHES": ("10**9", f"{_API}test_a_request_looks_at_so_many_matches"),
    "FEED_EVENTS": ("10**9", f"{_API}test_a_batch_has_so_many_events"),
    "FEED_CACHE_BYTES": ("10**12", f"{_API}test_so_many_bytes_of_batches_are_kept"),
    "MAX_FEED_MATCHES": ("10**9", f"{_API}test_what_is_no_token_is_refused"),
    "HEARTBEAT_SECONDS": ("1e9", f"{_TOPICS}test_a_quiet_stream_has_a_heartbeat"),
    "MAX_SAMPLE_GAMES": ("10**9", f"{_PEOPLE}test_so_many_people_play_at_the_same_time"),
    "MAX_SAMPLE_GAMES_PER_ADDRESS": ("10**9", f"{_PEOPLE}test_one_computer_leaves_games_to_others"),
    "MAX_FINISHED_GAMES": ("10**9", f"{_PEOPLE}test_so_many_finished_games_are_kept"),
    "MAX_TEAM_PLAYERS": ("10**9", f"{_PEOPLE}test_so_many_people_play_for_their_teams"),
    "MAX_FRIENDLY_GAMES": ("10**9", f"{_FRIENDLY}test_so_many_people_play_friendly_matches"),
    "MAX_FRIENDLY_GAMES_PER_ADDRESS": (
        "10**9",
        f"{_FRIENDLY}test_one_computer_leaves_friendly_matches_to_others",
    ),
    "MAX_FRIENDLY_CONNECTIONS": ("10**9", f"{_FRIENDLY}test_so_many_bots_are_connected"),
    "MAX_FRIENDLY_CONNECTIONS_PER_ADDRESS": ("10**9", f"{_FRIENDLY}test_so_many_bots_are_connected"),
    "PERSON_AWAY_SECONDS": ("1e9", f"{_PEOPLE}test_a_game_ends_when_nobody_is_at_the_board"),
    "TEAM_SESSIONS": ("10**9", f"{_OWN}test_a_team_has_eight_sessions"),
    "TEAM_SESSION_SECONDS": ("1e9", f"{_OWN}test_a_session_ends_after_eight_hours"),
    "PAGE_NONCE_SECONDS": ("1e9", f"{_OWN}test_a_nonce_is_fresh_for_a_minute"),
    "WALL_TEXT_CHARS": ("10**6", "tests/server/test_web_host.py::test_the_wall"),
    "OWN_MATCHES": ("10**9", f"{_OWN}test_the_area_has_so_many_matches_and_penalties"),
    "OWN_PENALTIES": ("10**9", f"{_OWN}test_the_area_has_so_many_matches_and_penalties"),
    "OWN_PENALTIES_OF_A_MATCH": ("10**9", f"{_OWN}test_equal_penalties_of_a_match_are_one_and_the_latest_is_first"),
    "MAX_OWN_CACHE": ("10**9", f"{_OWN}test_so_many_matches_are_kept"),
    "JOURNAL_TAIL_BYTES": ("1 << 40", "tests/server/test_journal_tail.py::test_a_long_journal_is_read_in_portions"),
    "STALL_CHECK_SECONDS": ("1e9", "tests/server/test_deadlines.py::test_a_stall_is_noticed"),
    "STALLS_KEPT": ("10**9", f"{_HERE}test_only_the_latest_stalls_are_kept"),
    "INCIDENT_ROWS_PER_TEAM": ("10**9", f"{_FLOODS}test_a_flood_takes_little_memory"),
    "UNAUTHENTICATED_INCIDENT_ROWS": ("10**9", f"{_FLOODS}test_a_flood_takes_little_memory"),
    "INCIDENT_DETAIL_CHARS": ("10**9", f"{_FLOODS}test_a_flood_takes_little_memory"),
    "INCIDENTS_SAVED_EVERY_SECONDS": ("1e-3", f"{_HERE}test_a_flood_costs_a_transaction_a_second"),
    "THROTTLE_PER_MINUTE": ("10**5", f"{_FLOODS}test_a_reconnect_storm_is_collapsed_and_its_last_line_is_true"),
    "SERVER_FAULTS_KEPT": ("10**9", f"{_FLOODS}test_server_faults_are_alike_if_they_happened_in_the_same_place"),
    "LOG_QUEUE_LINES": ("10**6", f"{_LOG}test_a_hanging_disk_costs_lines_and_no_time"),
    "LOG_FILE_BYTES": ("10**12", f"{_LOG}test_no_flood_fills_the_disk"),
    "LOG_FILES_KEPT": ("100", f"{_LOG}test_no_flood_fills_the_disk"),
    "LOG_TEXT_CHARS": ("10**6", f"{_LOG}test_a_long_text_loses_its_middle"),
    "SUMMARY_ROWS": ("10**6", f"{_FLOODS}test_an_error_ends_the_run_and_the_records_are_complete"),
    "SEGMENT_BYTES": ("10**12", f"{_HERE}test_a_segment_of_the_journal_that_is_full_is_followed_by_another"),
    "MAX_SEGMENT_BYTES": ("10**12", f"{_HERE}test_a_journal_larger_than_it_can_be_is_not_read"),
    "DISK_LOW_BYTES": ("0", f"{_HERE}test_the_host_is_warned_before_the_disk_is_full"),
    "DISK_LEAST_FREE_BYTES": ("0", f"{_HERE}test_some_room_is_left_on_the_disk"),
    "DISK_CHECK_SECONDS": ("0", f"{_HERE}test_a_full_disk_is_tried_once_a_second"),
    "GAME_INCIDENTS_KEPT": ("10**9", f"{_HERE}test_so_many_kinds_of_incidents_are_kept_with_a_game"),
    "HOSTILE_RETRY_MS": ("0", f"{_SESSION}test_a_hostile_frame_out_of_turn_loses_the_match"),
    "FULL_RETRY_MS": ("0", f"{_SESSION}test_the_oldest_connection_without_a_seat_is_evicted"),
    "SHUTDOWN_RETRY_MS": ("0", f"{_HERE}test_a_server_that_stops_asks_for_a_pause"),
    "SETTINGS_SHOWN": ("10**6", "tests/server/test_settings_record.py::test_many_changes_are_shortened"),
    "MAX_TRIED_BYTES": ("10**6", "tests/server/test_verify.py::test_a_long_move_that_was_tried_is_cut"),
    "FIRST_BYTES": ("10**9", f"{_HERE}test_the_first_bytes_of_a_hostile_frame_are_kept"),
    "MAX_PACKET_BYTES": ("10**5", f"{_FIND}test_a_packet_has_9000_bytes"),
    "MAX_PACKETS": ("10**9", f"{_FIND}test_a_search_reads_256_packets"),
    "MAX_QUESTIONS": ("10**9", f"{_FIND}test_an_answer_repeats_four_questions[5-False]"),
    "MAX_RECORDS": ("10**9", f"{_FIND}test_a_packet_has_64_records[65-False]"),
    "MAX_POINTERS": ("10**9", f"{_FIND}test_a_name_has_eight_pointers[9-False]"),
    "MAX_NAME_BYTES": ("10**9", f"{_FIND}test_a_name_has_255_bytes[128-False]"),
    "MAX_INTERFACES": ("10**9", f"{_FIND}test_16_networks_are_asked"),
    "MAX_ADDRESSES": ("10**9", f"{_FIND}test_a_server_has_eight_addresses"),
    "MAX_LISTED": ("10**9", f"{_FIND}test_a_list_has_20_servers"),
    "MAX_WARNED": ("10**9", f"{_FIND}test_a_list_warns_of_three_names"),
    "MAX_SHOWN": ("10**9", f"{_FIND}test_a_line_shows_three_addresses"),
    "MAX_TRIED": ("10**9", f"{_FIND}test_a_bot_tries_20_found_addresses"),
    "MAX_PROGRAM_DESCRIPTION_BYTES": ("10**6", f"{_STORE}test_a_damaged_description_is_named"),
    "PROGRAM_VERSIONS_KEPT": ("10**6", f"{_STORE}test_twenty_versions_keep_their_files"),
    "MAX_PROGRAM_VERSIONS": ("10**6", f"{_STORE}test_a_team_has_a_bounded_number_of_versions"),
    "PROGRAM_LOCK_SECONDS": ("1e9", f"{_STORE}test_a_change_waits_ten_seconds_for_another_one"),
    "MAX_PROGRAM_BYTES": ("10**9", f"{_SOURCE}test_source_of_more_than_10_mb_is_refused"),
    "MAX_PROGRAM_FILES": ("10**6", f"{_SOURCE}test_a_thousand_files_are_the_most"),
    "MAX_PROGRAM_PATH_BYTES": ("10**6", f"{_SOURCE}test_a_dangerous_name_is_refused"),
    "MAX_PROGRAM_DEPTH": ("10**6", f"{_SOURCE}test_a_dangerous_name_is_refused"),
    "MAX_ZIP_DIRECTORY_BYTES": (
        "10**9",
        f"{_SOURCE}test_a_long_list_of_entries_is_refused_before_it_is_read",
    ),
    "MAX_TAR_BYTES": ("10**9", f"{_SOURCE}test_a_tar_file_of_headers_only_is_refused"),
    "MAX_PROGRAM_SETTINGS_BYTES": (
        "10**9",
        "tests/server/test_program_plan.py::test_program_toml_has_a_bounded_size",
    ),
    "MAX_PROGRAM_COMMAND_CHARS": (
        "10**6",
        "tests/server/test_program_plan.py::test_a_command_has_a_bounded_length",
    ),
    "PROGRAM_MEMORY_BYTES": ("2**40", _PLAYS),
    "PROGRAM_ADDRESS_BYTES": ("2**46", _PLAYS),
    "PROGRAM_FILE_BYTES": ("2**40", _PLAYS),
    "PROGRAM_FILES": ("10**6", _PLAYS),
    "PROGRAM_THREADS": ("10**4", _PLAYS),
    "PROGRAM_DESCRIPTORS": ("10**4", _PLAYS),
    "PROGRAM_CPU_SECONDS": ("10**6", _PLAYS),
    "BUILD_SECONDS": ("1e9", f"{_ADDING}test_a_build_has_limited_time"),
    "BUILD_OUTPUT_BYTES": ("10**9", f"{_ADDING}test_a_build_that_prints_too_much_is_ended"),
    "PROGRAM_ERROR_BYTES": ("10**7", f"{_PLAYING}test_the_end_of_standard_error_is_kept"),
    "PROGRAM_ERROR_LINES": ("10**5", f"{_PLAYING}test_the_end_of_standard_error_is_kept"),
    "PROGRAM_ERROR_CHARS": ("10**6", f"{_PLAYING}test_the_end_of_standard_error_is_kept"),
    "PROGRAM_ERROR_FREE_BYTES": ("10**12", f"{_PLAYING}test_standard_error_without_an_end_is_read_slowly"),
    "PROGRAM_ERROR_BYTES_PER_SECOND": ("10**12", f"{_PLAYING}test_standard_error_without_an_end_is_read_slowly"),
    "PROGRAM_LATE_REPLIES": ("10**9", f"{_PLAYING}test_replies_that_are_no_answer_end_a_turn"),
    "PROGRAM_REPLY_BYTES": ("10**7", f"{_PLAYING}test_the_replies_of_a_file_are_bounded"),
    "PROGRAM_REPLIES": ("0", f"{_PLAYING}test_the_replies_of_a_file_are_bounded"),
    "BUILD_SHOWN_LINES": ("10**6", f"{_ADDING}test_the_compilers_output_is_bounded_and_harmless"),
    "MAX_BUILT_BYTES": ("10**12", f"{_ADDING}test_a_build_cannot_leave_too_much"),
    "MAX_BUILT_FILES": ("10**6", f"{_ADDING}test_a_build_cannot_leave_too_much"),
    "TRIAL_SECONDS": ("1e9", f"{_ADDING}test_trial_games_take_bounded_time"),
    "TRIAL_SECOND_SECONDS": ("1e9", f"{_ADDING}test_trial_games_take_bounded_time"),
    "TRIAL_MOVE_SECONDS": ("1e9", f"{_ADDING}test_while_several_conventions_fit_each_gets_less_time"),
    "TRIAL_RIVAL_SECONDS": ("1e9", f"{_ADDING}test_while_several_conventions_fit_each_gets_less_time"),
    "MAX_ORDER_BYTES": ("10**9", f"{_ORDER}test_an_order_has_a_bounded_length"),
    "MAX_ORDER_SECONDS": ("1e12", f"{_ORDER}test_an_order_that_is_wrong_is_refused_with_its_place"),
    "MAX_REPORT_BYTES": ("10**9", f"{_ORDER}test_a_report_has_a_bounded_length"),
    "MAX_PROGRESS_BYTES": ("10**9", f"{_ORDER}test_a_part_of_the_turns_has_a_bounded_length"),
    "MAX_CACHED_PROGRAMS": ("10**9", f"{_WORKER}test_programs_that_were_not_needed_for_long_are_deleted"),
    "CACHED_PROGRAM_SECONDS": ("1e9", f"{_WORKER}test_programs_that_were_not_needed_for_long_are_deleted"),
    "JUDGE_BACKLOG_BYTES": (
        "10**9",
        "tests/server/test_judge_parts.py::test_a_server_that_does_not_read_is_told_4_mib",
    ),
    "MAX_TURN_CHARS": ("10**9", f"{_ORDER}test_a_turn_has_a_bounded_length"),
}

NO_LIMITS = {"VERSION", "HEADER_BYTES", "NONCE_DIGITS", "MAC_DIGITS", "NOTE_KEYS", "NOTE_SHAPES", "NOTE_COLORS"}
"""Forms, not bounds: with any other value nobody could speak to anybody."""


_STARTER = """\
import gc, json, os, signal, sys, time
import hypothesis, msgpack, msgspec, pytest, rich.console, trio
# The rest serves the pages, the tables and pytest itself; each of 200 runs would import it again, for 0.1 s.
import execnet, h11, jinja2, numpy, pdb, pytest_timeout, pytest_trio.plugin, rich.progress, rjsmin, tomlkit
import xdist.plugin, xml.etree.ElementTree
gc.collect()
gc.freeze()
for line in sys.stdin:
    words, seconds, patience, output = json.loads(line)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.environ["GETSTEP_PATIENCE_SECONDS"] = str(patience)
        with open(output, "wb") as file, open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.exit(pytest.main(words))
    end = time.monotonic() + seconds
    while (code := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.005)
    if code == (0, 0):
        os.killpg(child, signal.SIGKILL)  # with the servers that it has started
        os.waitpid(child, 0)
    print("late" if code == (0, 0) else os.waitstatus_to_exitcode(code[1]), flush=True)
"""
"""Runs pytest as often as it is told. It has imported what no limit is in, which takes 0.5 s of each run."""


class Scratch:
    """A copy of the project, to be changed.

    Args:
        folder: where to put it.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder / "project"
        self._output = folder / "output.txt"
        shutil.copytree(ROOT, self._root, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist"))
        paths = [str(self._root), *(str(self._root / name) for name in _HOME)]
        # pytest has told the processes of this run the name of their test.
        outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        self._starter = subprocess.Popen(
            [sys.executable, "-c", _STARTER],
            cwd=self._root,
            env={**outside, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End the process that runs the tests."""
        with self._starter:
            pass

    def without(self, name: str) -> str | None:
        """Return the test that fails when a limit is removed, or None."""
        value, *tests = REMOVED[name]
        path, text = self._defining(name)
        removed = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
        _write(path, removed)
        try:
            return self.failing(tests, patience=IN_VAIN_SECONDS)
        except TimeoutError:
            return None
        finally:
            _write(path, text)

    def failing(
        self, tests: Iterable[str], seconds: float = SECONDS, patience: float = PATIENCE_SECONDS
    ) -> str | None:
        """Return the first of ``tests`` that fails, or None if all pass.

        Args:
            tests: their ids.
            seconds: for all of them.
            patience: of each of their waits, in seconds.

        Raises:
            RuntimeError: pytest could not run them.
            TimeoutError: they run for more than ``seconds``.
        """
        options = ["-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-m", "long or not long"]
        # Without `plain` pytest would complain of modules that it cannot rewrite because they are imported.
        code = self._run([*options, "--assert=plain", *tests], seconds, patience)
        if code == "0":
            return None
        output = self._output.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
        if code != "1" or found is None:
            raise RuntimeError(f"pytest ended with {code}:\n{output}")
        return found[1]

    def _run(self, words: list[str], seconds: float, patience: float) -> str:
        """Return the exit code of pytest."""
        assert self._starter.stdin is not None
        assert self._starter.stdout is not None
        self._starter.stdin.write(json.dumps([words, seconds, patience, str(self._output)]) + "\n")
        self._starter.stdin.flush()
        code = self._starter.stdout.readline().strip()
        if code == "late":
            raise TimeoutError(f"{words[-1]} has run for {seconds} s")
        return code

    def _defining(self, name: str) -> tuple[Path, str]:
        for path in (self._root / module for module in (*LIMITS, SESSION)):
            text = path.read_text(encoding="utf-8")
            if re.search(rf"^{name} = ", text, re.MULTILINE):
                return path, text
        raise SystemExit(f"{name}: no such limit, expected one of {', '.join(REMOVED)}")


def holding(names: Iterable[str]) -> list[str]:
    """Return the tests that hold these limits, each once."""
    return sorted({test for name in names for test in REMOVED[name][1:]})


def _write(path: Path, text: str) -> None:
    """Write a module, and remove its compiled form: one of the same second and size would be taken for new."""
    path.write_text(text, encoding="utf-8")
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def main(names: list[str]) -> int:
    """Remove the limits ``names``, or all; 1 if one of them is not held."""
    unknown = [name for name in names if name not in REMOVED]
    if unknown:
        raise SystemExit(f"{unknown[0]!r}, expected one of {', '.join(REMOVED)}")
    with tempfile.TemporaryDirectory(prefix="limits-removed-") as folder:
        scratch = Scratch(Path(folder))
        broken = scratch.failing(holding(names or REMOVED), ALL_SECONDS)
        if broken is not None:  # it would seem to hold whatever is removed
            raise SystemExit(f"{broken} fails with all limits in place")
        loose = 0
        for name in names or REMOVED:
            value, *_ = REMOVED[name]
            test = scratch.without(name)
            loose += test is None
            print(f"{name:<30} {value:<10} {test or 'NOT HELD'}", flush=True)
        scratch.close()
    return 1 if loose else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
