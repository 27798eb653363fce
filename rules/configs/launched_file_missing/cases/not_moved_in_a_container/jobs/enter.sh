#!/bin/bash
srun singularity exec --nv --bind $SOURCE:/code --bind $DATA:/code/data:ro $IMAGE bash /code/jobs/train.sh $@
srun singularity exec --nv --bind $SOURCE:/code $IMAGE bash /opt/jobs/elsewhere.sh $@
srun singularity exec --nv --bind $TOOLS:/code $IMAGE bash /code/jobs/elsewhere.sh $@
