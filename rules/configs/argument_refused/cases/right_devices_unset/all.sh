export CARDS=0,1
bash one.sh
