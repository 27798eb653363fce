import json
import os
import subprocess


def submit(args):
    # miles-credit 5e14b83 credit/pbs.py:114: who submits the job is one process
    settings = os.path.join(args.out, "settings.json")
    with open(settings, "w") as file:
        json.dump(vars(args), file)
    with open("job.sh", "w") as file:
        file.write("srun python -m torch.distributed.run train.py\n")
    subprocess.run("sbatch job.sh", shell=True)
    return json.load(open(settings))
