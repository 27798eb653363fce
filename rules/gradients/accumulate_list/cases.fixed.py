"""Models whose gradients are accumulated."""

import itertools

import torch
from accelerate import Accelerator

# Bugs


def a_list(unet, text_encoder, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    for batch in loader:
        with accelerator.accumulate(unet, text_encoder):  # expect: DL603
            accelerator.backward(unet(text_encoder(batch)))


def a_variable(unet, text_encoder, loader, args):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    models = [unet]
    if args.train_text_encoder:
        models.append(text_encoder)
    for batch in loader:
        with accelerator.accumulate(*models):  # expect: DL603
            accelerator.backward(unet(text_encoder(batch)))


def one_inside_the_other(first, second, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    for batch in loader:
        with accelerator.accumulate(first):
            with accelerator.accumulate(second):  # expect: DL603
                accelerator.backward(first(batch) + second(batch))


def side_by_side(first, second, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    for batch in loader:
        with accelerator.accumulate(first), accelerator.accumulate(second):  # expect: DL603
            accelerator.backward(first(batch) + second(batch))


def forward_and_backward_apart(model, loader, quantised):
    # 1d-tokenizer utils/train_utils.py:904: the fix is shown only.
    accelerator = Accelerator(gradient_accumulation_steps=2)
    for batch in loader:
        if quantised:
            with accelerator.accumulate([model]):  # expect: DL603
                loss = model(batch)
        else:
            with accelerator.accumulate([model]):  # expect: DL603
                loss = model(batch).mean()
        with accelerator.accumulate([model]):  # expect: DL603
            accelerator.backward(loss)


def either_arm(model, loader, quantised):
    accelerator = Accelerator(gradient_accumulation_steps=2)
    for batch in loader:
        if quantised:
            with accelerator.accumulate(model):  # expect: DL603
                accelerator.backward(model(batch))
        else:
            with accelerator.accumulate(model):  # expect: DL603
                accelerator.backward(model(batch).mean())


def a_loop_for_each(first, second, loader):
    accelerator = Accelerator(gradient_accumulation_steps=2)
    for batch in loader:
        with accelerator.accumulate(first):  # expect: DL603
            accelerator.backward(first(batch))
    for batch in loader:
        with accelerator.accumulate(second):  # expect: DL603
            accelerator.backward(second(batch))


def one_of_two(unet, text_encoder, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    optimizer = torch.optim.AdamW(itertools.chain(unet.parameters(), text_encoder.parameters()))
    unet, text_encoder, optimizer = accelerator.prepare(unet, text_encoder, optimizer)
    for batch in loader:
        with accelerator.accumulate(unet, text_encoder):  # expect: DL603
            loss = unet(batch, text_encoder(batch)).mean()
            accelerator.backward(loss)
            optimizer.step()


def two_of_three(actor, critic, reward, loader, accelerator: Accelerator):
    groups = [{"params": m.parameters()} for m in (actor, critic)]
    groups.append({"params": reward.parameters(), "lr": 1e-5})
    optimizer = accelerator.prepare(torch.optim.SGD(groups, lr=1e-4))
    actor, critic, reward = accelerator.prepare(actor, critic, reward)
    for batch in loader:
        with accelerator.accumulate(actor, critic, reward):  # expect: DL603
            accelerator.backward(critic(actor(batch)) - reward(batch))
            optimizer.step()


# Correct


def frozen_beside(unet, text_encoder, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    text_encoder.requires_grad_(False)
    unet, text_encoder = accelerator.prepare(unet, text_encoder)
    print(sum(p.numel() for p in text_encoder.parameters()))
    for batch in loader:
        with accelerator.accumulate(unet):
            accelerator.backward(unet(batch, text_encoder(batch)).mean())


def asked_without_gradients(unet, text_encoder, loader, accelerator: Accelerator):
    optimizer = torch.optim.AdamW([*unet.parameters(), *text_encoder.parameters()])
    unet, text_encoder, optimizer = accelerator.prepare(unet, text_encoder, optimizer)
    for batch in loader:
        with accelerator.accumulate(unet):
            with torch.no_grad():
                hidden = text_encoder(batch)
            accelerator.backward(unet(batch, hidden).mean())


def not_wrapped(unet, text_encoder, loader, accelerator: Accelerator):
    optimizer = torch.optim.AdamW([*unet.parameters(), *text_encoder.parameters()])
    unet, optimizer = accelerator.prepare(unet, optimizer)
    for batch in loader:
        with accelerator.accumulate(unet):
            accelerator.backward(unet(batch, text_encoder(batch)).mean())


def one_by_one(unet, text_encoder, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    for batch in loader:
        with accelerator.accumulate(unet, text_encoder):
            accelerator.backward(unet(text_encoder(batch)))


def unpacked(unet, text_encoder, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    models = [unet, text_encoder]
    for batch in loader:
        with accelerator.accumulate(*models):
            accelerator.backward(unet(text_encoder(batch)))


def one_after_the_other(generator, discriminator, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    for batch in loader:
        with accelerator.accumulate(generator):
            accelerator.backward(generator(batch))
        with accelerator.accumulate(discriminator):
            accelerator.backward(discriminator(batch))


def of_unknown_kind(model, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch))


def a_list_of_parameters(model, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    models = [model]
    model = models[0]
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch))


def one_by_one_in_either_arm(model, loader, quantised):
    accelerator = Accelerator(gradient_accumulation_steps=2)
    for batch in loader:
        if quantised:
            with accelerator.accumulate(model):
                accelerator.backward(model(batch))
        else:
            with accelerator.accumulate(model):
                accelerator.backward(model(batch).mean())


def an_element(unet, text_encoder, loader):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    models = [unet, text_encoder]
    for batch in loader:
        with accelerator.accumulate(models[0]):
            accelerator.backward(unet(batch))
