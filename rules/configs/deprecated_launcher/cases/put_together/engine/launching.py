import subprocess


def launch(script, gpus):
    words = []
    words.extend(["python", "-m", "torch.distributed.launch"])
    words.extend(["--nproc_per_node", str(gpus)])
    words.append(script)
    subprocess.Popen(" ".join(words), shell=True)
