#!/bin/bash
srun singularity exec --nv --bind $SOURCE:/code $IMAGE bash /code/inside.sh $@
