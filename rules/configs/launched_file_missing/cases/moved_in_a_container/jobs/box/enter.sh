#!/bin/bash
srun singularity exec --nv --bind $SOURCE:/code --bind $DATA:/code/data:ro $IMAGE bash /code/jobs/train.sh $@  # expect: DL812
