STAGE=2
while [[ "$#" -gt 0 ]]; do
    case $1 in
        --stage) STAGE="$2"; shift ;;
    esac
    shift
done
deepspeed train.py --deepspeed configs/zero${STAGE}.json --per_device_train_batch_size 4 --lr_scheduler_type cosine
