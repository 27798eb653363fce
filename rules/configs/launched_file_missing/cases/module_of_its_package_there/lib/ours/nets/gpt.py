print("another")
