"""The reading side of the journal: lines, records, selection, verification."""
