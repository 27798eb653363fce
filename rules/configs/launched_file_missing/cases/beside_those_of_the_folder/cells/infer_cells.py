print("infers")
