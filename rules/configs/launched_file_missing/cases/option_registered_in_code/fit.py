import hydra
from hydra.core.config_store import ConfigStore

ConfigStore.instance().store(group="data", name="sentences", node={"path": "sentences.txt"})
ConfigStore.instance().store(group="experiment", name="text/larger", node={"lr": 1e-5})


@hydra.main(version_base=None, config_path="configs", config_name="main")
def main(config):
    print(config)


if __name__ == "__main__":
    main()
