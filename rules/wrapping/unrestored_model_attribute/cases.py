"""Attributes set for a while: put back only where nothing raised, and put back always."""

from contextlib import contextmanager, nullcontext

import torch
from transformers.utils import is_flash_attn_2_available

# Bugs


def plain(model, batch):
    use_cache = model.config.use_cache  # expect: DL202
    model.config.use_cache = False  # training wants none
    loss = model(**batch).loss
    # back to what it was
    model.config.use_cache = use_cache
    return loss


def chosen_by_branches(self, prompts, context):
    inputs = self.processor(prompts)
    previous = self.model_wrapped.config._attn_implementation  # expect: DL202

    if is_flash_attn_2_available():
        self.model_wrapped.config._attn_implementation = "paged_attention"
    else:
        # no flash attention here
        self.model_wrapped.config._attn_implementation = "sdpa_paged"
    with context, torch.no_grad():
        outputs = self.model_wrapped.generate_batch(inputs)
    ids = [output.tokens for output in outputs.values()]
    # restore the implementation
    self.model_wrapped.config._attn_implementation = previous
    return ids


def chosen_in_place(model, batch, fast):
    saved = model.config._attn_implementation  # expect: DL202
    model.config._attn_implementation = "sdpa" if fast else "eager"
    out = model(**batch)
    model.config._attn_implementation = saved
    return out


def set_sometimes(tokenizer, texts, decoder_only):
    side = tokenizer.padding_side  # expect: DL202
    if decoder_only:
        tokenizer.padding_side = "left"
    batch = tokenizer(texts, padding=True)
    tokenizer.padding_side = side
    return batch


def attempted(model, batch):
    try:
        saved = model.config.output_attentions  # expect: DL202
        model.config.output_attentions = True
    except AttributeError:
        saved = None
    out = model(**batch)
    if saved is not None:
        model.config.output_attentions = saved
    return out


def passed_over(model, batch):
    try:
        saved = model.config.use_cache  # expect: DL202
        model.config.use_cache = True
    except AttributeError:
        pass
    out = model(**batch)
    try:
        model.config.use_cache = saved
    except AttributeError:
        pass
    return out


def deleted_again(model, batch):
    had = hasattr(model.config, "use_cache")
    saved = getattr(model.config, "use_cache", None)  # expect: DL202
    model.config.use_cache = True
    out = model(**batch)
    if had:
        model.config.use_cache = saved
    else:
        delattr(model.config, "use_cache")
    return out


def two_of_one(encoder, batch):
    hidden = encoder.config.output_hidden_states  # expect: DL202
    attentions = encoder.config.output_attentions
    encoder.config.output_hidden_states = True
    encoder.config.output_attentions = True
    out = encoder(batch)
    encoder.config.output_hidden_states = hidden
    encoder.config.output_attentions = attentions
    return out


def patched(self, features, labels):
    original = self.model.forward  # expect: DL202
    decorated = self.decorator(original)
    self.model.forward = decorated
    loss = self.loss(features, labels)
    self.model.forward = original
    return loss


def used_later(self, features):
    original = self.auto_model.config.output_hidden_states  # expect: DL202
    self.auto_model.config.output_hidden_states = True

    output = self.run(features)

    self.auto_model.config.output_hidden_states = original
    if original:
        del output["hidden"]
    return output


def leaves_early(model, batches):
    saved = model.config.use_cache  # expect: DL202
    model.config.use_cache = False
    for batch in batches:
        if model(**batch).loss.isnan():
            return None
    model.config.use_cache = saved
    return model


def generating(model, batch):
    saved = model.config.use_cache  # expect: DL202
    model.config.use_cache = True
    ids = model.generate(**batch)
    model.config.use_cache = saved
    return ids


@contextmanager
def without_finally(model):
    saved = model.config.use_cache  # expect: DL202
    model.config.use_cache = False
    yield model
    model.config.use_cache = saved


def evaluation_mode(model, batch):
    was_training = model.training  # expect: DL202
    model.eval()
    out = model(**batch)
    model.train(was_training)
    return out


# Correct


def in_finally(model, batch):
    use_cache = model.config.use_cache
    model.config.use_cache = False
    try:
        return model(**batch).loss
    finally:
        model.config.use_cache = use_cache


def after_a_try_that_goes_on(model, batches):
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    seen = []
    try:
        for batch in batches:
            seen.append(model(batch.to(device)))
    except Exception as error:
        print(error)
    model.train(was_training)
    return seen


def in_handler_and_after(model, batch):
    saved = model.config.use_cache
    model.config.use_cache = False
    try:
        loss = model(**batch).loss
    except Exception:
        model.config.use_cache = saved
        raise
    model.config.use_cache = saved
    return loss


def inside_the_try(model, batch):
    saved = model.config.use_cache
    try:
        model.config.use_cache = False
        loss = model(**batch).loss
        model.config.use_cache = saved
        model.check()
    finally:
        model.config.use_cache = saved
    return loss


@contextmanager
def with_finally(model, **values):
    saved = model.config.use_cache
    model.config.use_cache = values.get("use_cache", True)
    try:
        yield
    finally:
        model.config.use_cache = saved


def for_good(model):
    previous = model.config.use_cache
    model.config.use_cache = False
    model.prepare()
    return previous


def nothing_in_between(model):
    saved = model.config.use_cache
    model.config.use_cache = False
    flag = True
    model.config.use_cache = saved
    return flag


def not_a_model(state, logits):
    latents = state.latents
    state.latents = logits * 2
    state.step()
    state.latents = latents


def another_object(models, batch):
    saved = models[0].config.use_cache
    models[0].config.use_cache = False
    models[0](batch)
    models[1].config.use_cache = saved


def mode_in_finally(model, batch):
    was_training = model.training
    model.eval()
    try:
        return model(**batch)
    finally:
        model.train(was_training)


def by_context(model, switch, batch):
    with switch(model, use_cache=False) if switch else nullcontext():
        return model(**batch)


def new_value_of_its_own(config, build):
    size = config.hidden_size
    config.hidden_size = size * 2
    layer = build(config)
    config.hidden_size = size
    return layer


def put_back_by_the_stack(model, stack, batch):
    saved = model.config.use_cache
    stack.callback(setattr, model.config, "use_cache", saved)
    model.config.use_cache = False
    return model(**batch)


def switched_off_where_it_is_on(model, batch):
    if model.config.use_cache:
        model.config.use_cache = False
    return model(**batch)
