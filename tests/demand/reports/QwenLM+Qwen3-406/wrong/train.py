import argparse

from transformers import AutoModelForCausalLM, AutoTokenizer


def load(name):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name, device_map="cuda", attn_implementation="flash_attention_2")
    return tokenizer, model.eval()


def chat(tokenizer, model, question):
    messages = [{"role": "user", "content": question}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    inputs = tokenizer([text], return_tensors="pt").to(model.device)
    out = model.generate(**inputs, max_new_tokens=512)
    return tokenizer.decode(out[0][inputs.input_ids.shape[1]:], skip_special_tokens=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="Qwen/Qwen1.5-7B-Chat")
    parser.add_argument("question")
    args = parser.parse_args()
    print(chat(*load(args.model), args.question))
