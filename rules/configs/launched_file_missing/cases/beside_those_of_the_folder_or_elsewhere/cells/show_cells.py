print("show")
