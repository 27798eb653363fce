"""Models whose gradients are accumulated."""

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


# Correct


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
