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
