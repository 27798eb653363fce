"""Losses computed past the wrapper, and through it."""

import torch
import torch.distributed as dist
import torch.nn as nn
from accelerate import Accelerator
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel as DDP

# Bugs


def through_module(net, batches):
    model = DDP(net)
    for batch in batches:
        loss = model.module(batch).mean()  # expect: DL206
        loss.backward()


def unwrapped(model, optimizer, batches):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    net = accelerator.unwrap_model(model)
    for batch in batches:
        outputs = net(**batch)  # expect: DL206
        loss = outputs.loss
        accelerator.backward(loss)
        optimizer.step()


class Matcher(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, batch):
        return self.encoder(batch)

    def paired(self, encoder, batch):
        return encoder(batch).mean()

    def measured(self, batch):
        return self.encoder(batch).mean()

    def get_pairs_loss(self, batch):
        scores = self.forward(batch)
        return scores, scores.mean()

    def get_length(self, batch):
        return len(batch)

    def batch_of(self, samples, tokenizer):
        return torch.cat([tokenizer.encode(sample) for sample in samples])


def with_a_wrapper_that_nothing_reads(net, adapter, batches):
    net.adapter = adapter
    optimizer = torch.optim.AdamW([p for p in adapter.parameters() if p.requires_grad])
    wrapped = DDP(adapter)
    for batch in batches:
        wrapped = batch.mean()
        loss = net(batch, wrapped).mean()  # expect: DL206
        loss.backward()
        optimizer.step()


def with_the_model_in_the_place_of_its_wrapper(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parallel = DDP(model)
    for batch in batches:
        loss = model(batch).mean()  # expect: DL206
        loss.backward()
        optimizer.step()


def with_the_wrapper_inside_of_the_net(net, adapter, batches):
    optimizer = torch.optim.AdamW(adapter.parameters())
    wrapped = DDP(adapter)
    net.adapter = wrapped
    for batch in batches:
        loss = net(batch).mean()
        loss.backward()
        optimizer.step()


def with_the_wrapper_for_the_loss(model, batches, measure):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parallel = DDP(model)
    with torch.no_grad():
        print(measure(model(next(batches))))
    for batch in batches:
        loss = parallel(batch).mean()
        loss.backward()
        optimizer.step()


def with_a_model_that_is_only_wrapped(model, teacher, batches):
    # nothing trains it here
    parallel = DDP(teacher)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in batches:
        loss = (model(batch) - teacher(batch)).mean()
        loss.backward()
        optimizer.step()


def by_a_method_that_is_bound_before_the_loop(encoder, batches, pairs):
    model = DDP(Matcher(encoder))
    compare = model.module.measured if pairs else model.module.forward
    for batch in batches:
        loss = compare(batch).mean()  # expect: DL206
        loss.backward()


def by_a_bound_method_that_runs_no_layers(encoder, tokenizer, batches):
    model = DDP(Matcher(encoder))
    tokens_of = model.module.batch_of
    count = model.module.get_length
    for samples in batches:
        loss = model(tokens_of(samples, tokenizer)).mean() / count(samples)
        loss.backward()


def by_a_bound_method_without_gradients(encoder, batches):
    model = DDP(Matcher(encoder))
    measure = model.module.measured
    for batch in batches:
        with torch.no_grad():
            target = measure(batch)
        loss = (model(batch) - target).mean()
        loss.backward()


def with_the_layers_that_it_is_given(encoder, batch):
    model = DDP(Matcher(encoder))
    loss = model.module.paired(encoder, batch)  # expect: DL206
    loss.backward()


def with_its_own_layers(encoder, batch):
    model = DDP(Matcher(encoder))
    loss = model.module.measured(batch)  # expect: DL206
    loss.backward()


def another_method(net, batch):
    model = DDP(net)
    losses = model.module.compute_losses(batch)  # expect: DL206
    total = sum(losses)
    total.backward()


def layers_that_nothing_calls(unet, layers, loader, device):
    accelerator = Accelerator()
    unet.to(device)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(layers):
            loss = unet(batch).mean()  # expect: DL206
            accelerator.backward(loss)
            optimizer.step()
    accelerator.unwrap_model(layers).save_pretrained("layers")


def two_sets_of_layers(unet, layers, others, loader, device, with_others):
    # EditAnything 8d2db4a utils/train_dreambooth_lora_inpaint.py:789
    accelerator = Accelerator()
    accelerator.register_for_checkpointing(layers)
    unet.to(device)
    parameters = (
        [*layers.parameters(), *others.parameters()] if with_others else layers.parameters()
    )
    optimizer = torch.optim.AdamW(parameters)
    layers, others, optimizer, loader = accelerator.prepare(layers, others, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(unet):
            loss = unet(batch).mean()  # expect: DL206
            accelerator.backward(loss)
            optimizer.step()


def wrapper_thrown_away(net, batches):
    DDP(net)  # expect: DL206
    for batch in batches:
        net(batch).mean().backward()


def network_of_layers(unet, network, loader, rate):
    accelerator = Accelerator()
    unet.requires_grad_(False)
    parameters = network.prepare_optimizer_params(rate)
    optimizer = torch.optim.AdamW(parameters, lr=rate)
    network, optimizer, loader = accelerator.prepare(network, optimizer, loader)

    def keep(path, layers):
        layers.save_weights(path)

    for batch in loader:
        accelerator.backward(unet(batch).mean())  # expect: DL206
        optimizer.step()
    keep("layers.pt", accelerator.unwrap_model(network))


def prepared_and_thrown_away(net, optimizer, batches):
    accelerator = Accelerator()
    accelerator.prepare(net, optimizer)  # expect: DL206
    for batch in batches:
        accelerator.backward(net(batch).mean())
        optimizer.step()


def handed_back_bare(net):
    accelerator = Accelerator()
    accelerator.prepare_model(net)  # expect: DL206
    return accelerator, net


def one_epoch(model, loader, optimizer):
    # ULIP f194ddb models/pointnext/PointNeXt/examples/classification/train.py:264
    for batch in loader:
        _, loss = (
            model.get_pairs_loss(batch)
            if not hasattr(model, "module")
            else model.module.get_pairs_loss(batch)  # expect: DL206
        )
        loss.backward()
        optimizer.step()


def epochs_of_a_helper(encoder, loader, optimizer):
    model = DDP(Matcher(encoder))
    for _ in range(3):
        one_epoch(model, loader, optimizer)


def taken_off_where_it_is_on(encoder, batch):
    model = DDP(Matcher(encoder))
    net = model.module if hasattr(model, "module") else model
    net.measured(batch).backward()  # expect: DL206


def asked_for_by_name(encoder, batch):
    model = DDP(Matcher(encoder))
    getattr(model, "module", model).measured(batch).backward()  # expect: DL206


def returned_loss(model, batch):
    return model.module.measured(batch)  # expect: DL206


def sent_backward_here(encoder, batch):
    model = DDP(Matcher(encoder))
    loss = returned_loss(model, batch)
    loss.backward()


class HoldsLayers(nn.Module):
    def __init__(self, layers, scale=1.0):
        super().__init__()
        self.layers = layers
        self.scale = scale

    def forward(self, batch):
        return self.layers(batch).mean() * self.scale


def net_built_before_its_layers_are_wrapped(layers, loader):
    accelerator = Accelerator()
    net = HoldsLayers(layers)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    for batch in loader:
        loss = net(batch)  # expect: DL206
        accelerator.backward(loss)
        optimizer.step()


class BuildsAround:
    def __init__(self, layers, loader):
        self.accelerator = Accelerator()
        self.layers = layers
        self.net = HoldsLayers(scale=0.5, layers=layers)
        self.optimizer = torch.optim.AdamW(layers.parameters())
        self.layers, self.optimizer, self.loader = self.accelerator.prepare(
            self.layers, self.optimizer, loader
        )

    def train(self):
        self.layers.train()
        for batch in self.loader:
            loss = self.net(batch)  # expect: DL206
            self.accelerator.backward(loss)
            self.accelerator.clip_grad_norm_(self.layers.parameters(), 1.0)
            self.optimizer.step()


class ReturnsTwice:
    """What the helper returns, another returns in turn: coqui's Trainer 7704b0f trainer/trainer.py:1115."""

    def __init__(self, net, optimizer):
        self.net, self.optimizer = DDP(net), optimizer

    @staticmethod
    def ask(net, batch):
        if hasattr(net, "module"):
            return net.module.losses(batch)  # expect: DL206
        return net.losses(batch)

    def losses_of(self, net, batch):
        with torch.autocast("cuda"):
            outputs, losses = self.ask(net, batch)
        return outputs, losses

    def step(self, net, batch):
        outputs, losses = self.losses_of(net=net, batch=batch)
        losses["loss"].backward()
        self.optimizer.step()
        return outputs

    def fit(self, loader):
        for batch in loader:
            self.step(self.net, batch)


def one_of_several_nets(nets, batch, optimizer):
    nets = DDP(nn.ModuleDict(nets))
    loss = sum(nets.module[name](batch[name]).mean() for name in batch)  # expect: DL206
    loss.backward()
    optimizer.step()


class Captioner(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, image, caption):
        return self.decoder(self.encoder(image), caption).mean()

    def generate(self, image, sample):
        scores = self.decoder(self.encoder(image))
        words = scores.multinomial(1) if sample else scores.argmax(-1)
        return words, scores.log_softmax(-1).gather(-1, words)


def rewarded(image, captions, model, criterion):
    # X-VLM cb4fff1 Captioning_scst.py:51
    bare = model
    if hasattr(model, "module"):
        bare = model.module
    with torch.no_grad():
        greedy, _ = bare.generate(image, sample=False)
    sampled, sampled_logprobs = bare.generate(image, sample=True)  # expect: DL206
    return criterion(captions, greedy, sampled, sampled_logprobs)


def self_critical(encoder, decoder, loader, criterion, optimizer):
    model = DDP(Captioner(encoder, decoder))
    for image, captions in loader:
        loss = rewarded(image, captions, model, criterion)
        loss.backward()
        optimizer.step()


# Correct


def samples_that_the_net_sees_again(image, model, criterion):
    words, old_logprobs = model.module.generate(image, sample=True)
    return criterion(model, image, words, old_logprobs)


def clipped_ratio(encoder, decoder, loader, criterion, optimizer):
    model = DDP(Captioner(encoder, decoder))
    for image, _ in loader:
        samples_that_the_net_sees_again(image, model, criterion).backward()
        optimizer.step()


def samples_that_the_net_learns(encoder, decoder, loader, optimizer):
    model = DDP(Captioner(encoder, decoder))
    for image, _ in loader:
        words, logprobs = model.module.generate(image, sample=True)
        loss = model(image, words) * logprobs.detach().mean()
        loss.backward()
        optimizer.step()


def words_alone(image, model, criterion):
    words, lengths = model.module.generate(image, sample=True)
    return criterion(image, words, lengths)


def judged_by_another_net(encoder, decoder, judge, loader, criterion, optimizer):
    model = DDP(Captioner(encoder, decoder))
    for image, _ in loader:
        loss = judge(words_alone(image, model, criterion))
        loss.backward()
        optimizer.step()


def scaled(model, batch):
    return model.module.paired(model, batch) / model.module.get_length(batch)


def looked_at(encoder, batch):
    model = DDP(Matcher(encoder))
    print(scaled(model, batch))
    model(batch).mean().backward()


def rest_of_the_loss(model, scores):
    return model.module.paired(model, scores)


def sent_through_the_wrapper_first(encoder, batch):
    model = DDP(Matcher(encoder))
    loss = rest_of_the_loss(model, model(batch))
    loss.backward()


def divided_by_the_length(encoder, batch):
    model = DDP(Matcher(encoder))
    scale = getattr(model, "module", model).get_length(batch)
    loss = loss_of(model, batch) / scale
    loss.backward()


def measured_only(encoder, batch):
    model = DDP(Matcher(encoder))
    with torch.no_grad():
        return getattr(model, "module", model).measured(batch)


def asked_for_a_setting(encoder, batch):
    model = DDP(Matcher(encoder))
    scale = getattr(model, "module", model).config.scale
    (model(batch).mean() * scale).backward()


def changed_in_place(net, batches):
    dist.init_process_group()
    fully_shard(net)
    for batch in batches:
        net(batch).mean().backward()


def batch_made_by_the_model(encoder, tokenizer, samples):
    # DPR a31212d train_dense_encoder.py:468
    model = DDP(Matcher(encoder))
    batch = model.module.batch_of(samples, tokenizer)
    loss = loss_of(model, batch)
    loss.backward()


def loss_of(model, batch):
    return model(batch).mean()


def loader_thrown_away(loader, optimizer):
    accelerator = Accelerator()
    accelerator.prepare(loader, optimizer)
    return loader


def wrapper_kept_in_a_list(net, batches):
    models = []
    models.append(DDP(net))
    for batch in batches:
        models[0](batch).mean().backward()


def wrapper_returned(net):
    accelerator = Accelerator()
    return accelerator.prepare_model(net)


def evaluated_bare(net):
    accelerator = Accelerator()
    accelerator.prepare_model(net, evaluation_mode=True)
    return net


def reduced_by_hand(net, batch):
    model = DDP(net)
    model.module(batch).mean().backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)


def through_the_wrapper(net, batches):
    model = DDP(net)
    for batch in batches:
        loss = model(batch).mean()
        loss.backward()


def part_of_the_loss_only(net, batch):
    model = DDP(net)
    out = model(batch)
    loss = model.module.criterion(out)
    loss.backward()


def teacher(student, teacher, batch):
    model, guide = DDP(student), DDP(teacher)
    with torch.no_grad():
        target = guide.module(batch)
    loss = (model(batch) - target).square().mean()
    loss.backward()


def evaluation(model, batch):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    return accelerator.unwrap_model(model)(**batch)


def attributes_only(net, batch):
    model = DDP(net)
    scale = model.module.config.scale
    loss = model(batch).mean() * scale
    loss.backward()


def never_wrapped(net, batch):
    loss = net.module(batch).mean()
    loss.backward()


def layers_that_are_called(unet, layers, loader, device):
    accelerator = Accelerator()
    unet.to(device)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    for batch in loader:
        loss = unet(layers(batch)).mean()
        accelerator.backward(loss)
        optimizer.step()


def layers_put_into_the_net(unet, layers, loader, device):
    accelerator = Accelerator()
    unet.to(device)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    unet.down = layers
    for batch in loader:
        loss = unet(batch).mean()
        accelerator.backward(loss)
        optimizer.step()


def averaged_by_hand(unet, layers, loader, device):
    accelerator = Accelerator()
    unet.to(device)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    for batch in loader:
        accelerator.backward(unet(batch).mean())
        for parameter in layers.parameters():
            parameter.grad = accelerator.reduce(parameter.grad, reduction="mean")
        optimizer.step()


def parameters_of_the_net(unet, network, loader, rate):
    accelerator = Accelerator()
    unet.requires_grad_(False)
    parameters = unet.prepare_optimizer_params(rate)
    optimizer = torch.optim.AdamW(parameters, lr=rate)
    network, optimizer, loader = accelerator.prepare(network, optimizer, loader)
    for batch in loader:
        accelerator.backward(unet(batch).mean())
        optimizer.step()


def network_that_a_helper_calls(unet, network, loader, rate):
    accelerator = Accelerator()
    unet.requires_grad_(False)
    optimizer = torch.optim.AdamW(network.prepare_optimizer_params(rate))
    network, optimizer, loader = accelerator.prepare(network, optimizer, loader)

    def conditions(batch, layers):
        return layers(batch)

    for batch in loader:
        accelerator.backward(unet(conditions(batch, network)).mean())
        optimizer.step()


def net_built_of_what_is_wrapped(layers, loader):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    net = HoldsLayers(layers)
    for batch in loader:
        loss = net(batch)
        accelerator.backward(loss)
        optimizer.step()


def net_that_is_wrapped_too(layers, loader):
    accelerator = Accelerator()
    net = HoldsLayers(layers)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, net, optimizer = accelerator.prepare(layers, net, optimizer)
    for batch in loader:
        loss = net(batch)
        accelerator.backward(loss)
        optimizer.step()


def wrapped_layers_put_into_the_net_again(layers, loader):
    accelerator = Accelerator()
    net = HoldsLayers(layers)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    net.layers = layers
    for batch in loader:
        loss = net(batch)
        accelerator.backward(loss)
        optimizer.step()


class KeepsItsNameAlone(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.name = str(layers)
        self.own = nn.Linear(2, 2)

    def forward(self, batch):
        return self.own(batch).mean()


def net_that_holds_no_layers(layers, loader):
    accelerator = Accelerator()
    net = KeepsItsNameAlone(layers)
    optimizer = torch.optim.AdamW(layers.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    for batch in loader:
        loss = net(batch)
        accelerator.backward(loss)
        optimizer.step()


def layers_frozen_in_the_net(layers, head, loader):
    accelerator = Accelerator()
    net = HoldsLayers(layers)
    optimizer = torch.optim.AdamW(head.parameters())
    layers, optimizer, loader = accelerator.prepare(layers, optimizer, loader)
    for batch in loader:
        loss = head(net(batch)).mean()
        accelerator.backward(loss)
        optimizer.step()


class Calls(BuildsAround):
    def __init__(self, layers, loader):
        self.accelerator = Accelerator()
        self.layers = layers
        self.probe = HoldsLayers(layers)
        self.optimizer = torch.optim.AdamW(layers.parameters())
        self.layers, self.optimizer, self.loader = self.accelerator.prepare(
            self.layers, self.optimizer, loader
        )

    def train(self):
        for batch in self.loader:
            loss = self.layers(batch).mean() + self.probe(batch)
            self.accelerator.backward(loss)
            self.optimizer.step()


class ReturnsARest:
    """The wrapper's forward runs for the same loss, in the one that returns it."""

    def __init__(self, net, optimizer):
        self.net, self.optimizer = DDP(net), optimizer

    @staticmethod
    def rest(net, scores):
        return net.module.penalty(scores)

    def losses_of(self, net, batch):
        scores = net(batch)
        return scores.mean() + self.rest(net, scores)

    def step(self, net, batch):
        self.losses_of(net, batch).backward()
        self.optimizer.step()

    def fit(self, loader):
        for batch in loader:
            self.step(self.net, batch)


class ShowsWhatItReturns:
    """Nobody sends it backward."""

    def __init__(self, net, optimizer):
        self.net, self.optimizer = DDP(net), optimizer

    @staticmethod
    def ask(net, batch):
        return net.module.losses(batch)

    def losses_of(self, net, batch):
        return self.ask(net, batch)

    def show(self, loader):
        for batch in loader:
            print(self.losses_of(self.net, batch))

    def step(self, batch):
        self.net(batch).mean().backward()
        self.optimizer.step()


class Masked(nn.Module):
    """open-pi-zero c3df7fb src/agent/train.py:287: what is made of numbers alone has no gradient."""

    def __init__(self, cfg, weight):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.rows = cfg.rows
        self.share = cfg.shares[0]
        self.seen = self.rows + cfg.actions
        self.scale = weight

    def forward(self, batch, mask):
        return self.layer(batch) * mask

    def causal(self, batch):
        mask = torch.full((batch.size(0), self.seen, self.seen), -1.0)
        mask[:, self.rows :] = 0
        return mask, torch.arange(1, self.rows + 1)

    def scaled(self, batch):
        return batch[: self.rows] * self.scale

    def penalty(self, users, items):
        return torch.nn.functional.softplus(items - users).mean() + self.share * users.norm()


def masks_past_the_wrapper(cfg, weight, optimizer, loader):
    model = DDP(Masked(cfg, weight))
    for batch in loader:
        mask, positions = model.module.causal(batch)
        model(batch, mask[positions]).mean().backward()
        optimizer.step()


def masks_handed_on(cfg, weight, optimizer, loader, loss_of):
    model = DDP(Masked(cfg, weight))
    for batch in loader:
        mask, positions = model.module.causal(batch)
        loss_of(batch, mask, positions).backward()
        optimizer.step()


def scales_past_the_wrapper(cfg, weight, optimizer, loader):
    model = DDP(Masked(cfg, weight))
    for batch in loader:
        model.module.scaled(batch).mean().backward()  # expect: DL206
        optimizer.step()


def penalised_past_the_wrapper(cfg, weight, optimizer, loader):
    # KGAT_TEST 94cb020 src/train_original_multi_gpu.py:285: a loss of its arguments, by a number of the settings
    model = DDP(Masked(cfg, weight))
    for users, items in loader:
        model.module.penalty(users, items).backward()
        optimizer.step()


def with_a_judge_that_is_frozen_for_now(net, batch, optimizer):
    # MelCausalVAE 6657464 train_standard.py:232
    bare = DDP(net).module
    for weight in bare.judge.parameters():
        weight.requires_grad_(False)
    made = bare.judge(batch)
    loss = made.mean() - bare.judge(batch + 1).mean()
    for weight in bare.judge.parameters():
        weight.requires_grad_(True)
    loss.backward()
    optimizer.step()


def with_a_judge_that_learns_again(net, batch, optimizer):
    bare = DDP(net).module
    for weight in bare.judge.parameters():
        weight.requires_grad_(False)
    print(bare.judge(batch).mean())
    for weight in bare.judge.parameters():
        weight.requires_grad_(True)
    bare.judge(batch).mean().backward()  # expect: DL206
    optimizer.step()


class KeepsTheBareNet:
    # UrbanNav train.py:174: the wrapper is made when the object has the model already
    def __init__(self, net, optimizer):
        self.net = net
        self.optimizer = optimizer

    def epoch(self, batches):
        for batch in batches:
            self.net(batch).sum().backward()
            self.optimizer.step()

    def score(self, batches):
        return sum(self.net(batch).sum() for batch in batches)


def wraps_too_late(net, optimizer, batches):
    keeper = KeepsTheBareNet(net=net, optimizer=optimizer)
    net = DDP(net)  # expect: DL206
    for _ in range(9):
        keeper.epoch(batches)
    return net.module.state_dict()


def wraps_in_time(net, optimizer, batches):
    net = DDP(net)
    keeper = KeepsTheBareNet(net=net, optimizer=optimizer)
    keeper.epoch(batches)


def hands_over_later(net, optimizer, batches):
    keeper = KeepsTheBareNet(net, optimizer)
    net = DDP(net)
    keeper.net = net
    keeper.epoch(batches)


def scores_the_bare_net(net, optimizer, batches):
    keeper = KeepsTheBareNet(net, optimizer)
    net = DDP(net)
    for batch in batches:
        net(batch).sum().backward()
        optimizer.step()
    return keeper.score(batches)


def with_a_frozen_encoder(encoder, decoder, batches):
    # AnyAttack 91b2091 main_ddp.py:141
    encoder, decoder = DDP(encoder), DDP(decoder)
    for weight in encoder.parameters():
        weight.requires_grad = False
    optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
    for batch in batches:
        loss = encoder.module.encode(decoder(batch)).mean()
        loss.backward()
        optimizer.step()


def with_an_encoder_that_is_frozen_in_part(encoder, decoder, batches):
    encoder, decoder = DDP(encoder), DDP(decoder)
    for name, weight in encoder.named_parameters():
        weight.requires_grad = "head" in name
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for batch in batches:
        loss = encoder.module.encode(decoder(batch)).mean()  # expect: DL206
        loss.backward()
        optimizer.step()


def takes_the_model_out(batch, model, criterion):
    # spec2mol b4c404f models/Transformer_modules.py:496
    if type(model) == DDP:
        model = model.module
    out = model.forward(batch)  # expect: DL206
    return out, criterion(out)


def takes_the_model_out_for_its_width(batch, model, criterion):
    out = model(batch)
    if isinstance(model, DDP):
        model = model.module
    return out, criterion(out, model.width)


def takes_the_model_out_to_test(batch, model, criterion, testing):
    if testing:
        model = model.module
    return criterion(model(batch))


def trains_what_is_taken_out(net, loader, criterion, plain):
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in loader:
        if plain:
            loss = criterion(net(batch))
        else:
            _, loss = takes_the_model_out(batch, net, criterion)
        loss.backward()
        optimizer.step()


def trains_what_is_asked(net, loader, criterion):
    net = DDP(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in loader:
        _, loss = takes_the_model_out_for_its_width(batch, net, criterion)
        loss = loss + takes_the_model_out_to_test(batch, net, criterion, testing=False)
        loss.backward()
        optimizer.step()


class WithAStillFace(nn.Module):
    def __init__(self, face, painter):
        super().__init__()
        self.face = face.eval()
        self.painter = painter
        for weight in self.face.parameters():
            weight.requires_grad = False

    def forward(self, batch):
        return self.painter(batch)


class WithAFaceThatThaws(nn.Module):
    def __init__(self, features, painter, learns):
        super().__init__()
        self.features = features
        self.painter = painter
        for weight in self.features.parameters():
            weight.requires_grad = False
        if learns:
            self.features.layer4.requires_grad_(True)

    def forward(self, batch):
        return self.painter(batch)


def painted_step(net, batch, optimizer):
    # adv_pytorch 27e28b1 train_multigpu.py:89: what judges the picture has no gradients to synchronise
    bare = net.module
    seen = bare.face(batch)
    loss = 1 - seen.mean()
    loss.backward()
    optimizer.step()


def paint(face, painter, loader, optimizer):
    net = DDP(WithAStillFace(face, painter))
    for batch in loader:
        painted_step(net, batch, optimizer)


def painter_past_the_wrapper(face, painter, loader, optimizer):
    net = DDP(WithAStillFace(face, painter))
    bare = net.module
    for batch in loader:
        bare.painter(batch).mean().backward()  # expect: DL206
        optimizer.step()


def face_that_thaws(features, painter, loader, optimizer):
    net = DDP(WithAFaceThatThaws(features, painter, True))
    bare = net.module
    for batch in loader:
        bare.features(batch).mean().backward()  # expect: DL206
        optimizer.step()
