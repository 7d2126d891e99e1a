"""Many problems of one shape, solved by one compiled loop."""
