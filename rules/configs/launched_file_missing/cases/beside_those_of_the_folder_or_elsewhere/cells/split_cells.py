print("split")
