# MM_SLT 4359c0c test.py:132: what shares no file with what saves takes the prefix off each key
import torch


def score(net, folder, batches):
    state = {}
    for key, value in torch.load(folder + "/best.pt").items():
        state[key[7:] if key.startswith('module.') else key] = value
    net.load_state_dict(state)
    return [net(batch) for batch in batches]
