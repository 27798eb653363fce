# it's a comment with one quote, and "another
NAME="${1:-"first"} it's"
LIST=$(python -c 'print("a")' | tr -d "'")
OTHER=`echo "b" | sed 's/"//'`
cat <<EOF
a "document
EOF
cat <<'END'
don't
END
case "$NAME" in
    a) echo "a" ;;
    *) echo $'it\'s' ;;
esac
torchrun --nproc_per_node=8 train.py --name "$NAME \" quoted" --list ${LIST#\"} --count ${#LIST}
