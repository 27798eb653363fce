"""What an editor asks while somebody types: findings, fixes, pages; over the Language Server Protocol."""
