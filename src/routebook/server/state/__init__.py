"""State on disk: home folder, journal, snapshots, warm start, history index, event feed."""
