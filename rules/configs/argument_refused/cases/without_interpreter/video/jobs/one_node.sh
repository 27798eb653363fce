# Copyright (c) the authors
#!/bin/bash
#SBATCH --nodes=1
srun --label jobs/start.sh $@  # expect: DL817
