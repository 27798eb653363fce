print("fit")
