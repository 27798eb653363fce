export nod=2
bash tiny.sh
