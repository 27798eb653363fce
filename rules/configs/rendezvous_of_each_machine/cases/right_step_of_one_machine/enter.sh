#!/bin/bash
srun --nodes=1 singularity exec --nv --bind $SOURCE:/code $IMAGE bash /code/inside.sh $@
