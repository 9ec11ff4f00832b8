"""What several test modules use: contests, servers, bots, records, clocks. Read README.md."""
