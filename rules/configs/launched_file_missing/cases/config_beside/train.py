print("one rank")
