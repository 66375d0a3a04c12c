"""The tests of AGO, by kind: unit, property, golden, differential, device."""
