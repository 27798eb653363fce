batches = []
