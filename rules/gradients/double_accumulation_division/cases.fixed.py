"""Losses that are divided by the number of accumulated batches."""

from accelerate import Accelerator

# Bugs


def by_the_accelerators_own(model, optimizer, loader, steps):
    accelerator = Accelerator(gradient_accumulation_steps=steps)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).loss
            accelerator.backward(loss)  # expect: DL606
            optimizer.step()


def by_what_it_was_given(model, optimizer, loader, args):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).loss
            accelerator.backward(loss)  # expect: DL606
            optimizer.step()


def in_the_call(model, optimizer, loader, args):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).loss)  # expect: DL606
            optimizer.step()


# Correct


def accumulated_by_hand(model, optimizer, loader, args):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for step, batch in enumerate(loader):
        loss = model(batch).loss / args.accumulate
        accelerator.backward(loss)
        if step % args.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()


def divided_for_the_log(model, optimizer, loader, args):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    total = 0.0
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).loss
            total += loss.detach() / args.accumulate
            accelerator.backward(loss)
            optimizer.step()


def by_something_else(model, optimizer, loader, args):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulate)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).sum() / len(batch)
            accelerator.backward(loss)
            optimizer.step()
