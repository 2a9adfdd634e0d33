"""The reading side of the journal: lines, records, filters, verification."""
