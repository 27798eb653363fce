# which of them a person means is in none of the folders
sh dist_checknoise.sh configs/a.py 8  # expect: DL812
sh dist_check.sh configs/a.py 8
