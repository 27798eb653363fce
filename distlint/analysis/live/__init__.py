"""What the program does: the runs that its entries lead to, and which functions the ranks enter together."""
