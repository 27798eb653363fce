from trl import SFTConfig, SFTTrainer


def arguments():
    return SFTConfig(
        "out",
        bf16=True,
        deepspeed="zero.json",  # expect: DL803
    )


SFTTrainer(model="gpt2", args=arguments()).train()
