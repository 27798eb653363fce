import hydra


@hydra.main(version_base=None, config_path="configs", config_name="main")
def main(config):
    print(config)


if __name__ == "__main__":
    main()
