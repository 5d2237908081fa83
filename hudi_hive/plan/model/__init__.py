"""What goes into a plan and comes out of it: queries, options of reads, scan plans and partitions."""
