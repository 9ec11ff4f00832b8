"""Everything that is shown or exported: tables, crosstables, the report, transcripts, live progress,
credential slips.

In: records, tournament tables and events. Out: text, html and SVG. Nothing here changes a contest.
It must not know the judge, sockets or a running server.
"""

__all__ = [
    "corrections",
    "crosstable",
    "event_lines",
    "export",
    "incident_report",
    "kept_parts",
    "live_board",
    "match_list",
    "match_pages",
    "notation",
    "plots",
    "progress",
    "progress_state",
    "qr_code",
    "ratings_table",
    "replays",
    "report",
    "site",
    "slips",
    "tables",
    "text_table",
    "transcript",
]
