"""The simulated fleet in virtual time: writes journals and the ground truth."""
