def add_steps(parser):
    parser.add_argument("--num_steps", type=int)
