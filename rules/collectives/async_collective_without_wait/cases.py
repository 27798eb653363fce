"""Cases of DL109: asynchronous calls that nothing waits for, and those that are waited for."""

import torch
import torch.distributed as dist

# --- bugs -----------------------------------------------------------------------------------------


def dropped(grad, optimizer):
    dist.all_reduce(grad, async_op=True)  # expect: DL109
    optimizer.step()


def dropped_send(x):
    dist.isend(x, 1)  # expect: DL109


def never_waited_for(x):
    work = dist.broadcast(x, 0, async_op=True)  # expect: DL109
    return x


def read_too_early(x):
    work = dist.all_reduce(x, async_op=True)  # expect: DL109
    mean = x / dist.get_world_size()
    work.wait()
    return mean


def received_too_late(buffer):
    request = dist.irecv(buffer, 0)  # expect: DL109
    total = buffer.sum()
    request.wait()
    return total


def read_by_its_second_name(x, buffer):
    work = dist.all_gather_into_tensor(buffer, x, async_op=True)  # expect: DL109
    whole = buffer
    total = whole.sum()
    work.wait()
    return total


def read_before_the_barrier(x, losses):
    dist.all_reduce(x, async_op=True)  # expect: DL109
    losses.append(x.item())
    dist.barrier()
    return losses


def barrier_of_another_group(x, group):
    dist.all_reduce(x, group=group, async_op=True)  # expect: DL109
    dist.barrier()
    return x


def a_collective_is_no_barrier(x, y):  # with Gloo: information
    dist.broadcast(x, src=0, async_op=True)  # expect: DL109
    dist.all_reduce(y)
    return x


def sent_in_front_of_a_barrier(x):
    dist.isend(x, 1)  # expect: DL109
    dist.barrier()


def barrier_on_a_condition(x, wait):
    dist.broadcast(x, src=0, async_op=True)  # expect: DL109
    if wait:
        dist.barrier()
    return x


# --- right ----------------------------------------------------------------------------------------


def waited_for(x):
    work = dist.all_reduce(x, async_op=True)
    other = torch.ones(3)
    work.wait()
    return x + other


def waited_at_once(x):
    dist.all_reduce(x, async_op=True).wait()
    return x


def all_of_them(tensors):
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for work in works:
        work.wait()


def handed_on(x):
    return dist.all_reduce(x, async_op=True)


class Buckets:
    def start(self, x):
        self.work = dist.all_reduce(x, async_op=True)
        self.pending.append(dist.isend(x, 1))

    def finish(self):
        self.work.wait()


def as_asked(x, async_op):
    return dist.all_reduce(x, async_op=async_op)


def synchronous(x):
    dist.all_reduce(x, async_op=False)
    return x


def its_form(x):
    work = dist.all_reduce(x, async_op=True)
    rows = x.shape[0]
    work.wait()
    return x / rows


def second_name(grad, buffer, group):
    """Megatron-LM's tensor_parallel/layers.py: the name reads nothing, the view behind the wait does."""
    work = dist.all_gather_into_tensor(buffer, grad, group=group, async_op=True)
    whole = buffer
    other = torch.ones(3)
    work.wait()
    return whole.view(-1) + other


def each_from_its_owner(x, shapes):
    """A barrier of the group comes behind all of its broadcasts."""
    rank, parts = dist.get_rank(), []
    for owner, shape in enumerate(shapes):
        part = x if owner == rank else x.new_empty(shape)
        dist.broadcast(part, src=owner, async_op=True)
        parts.append(part)
    dist.barrier()
    return parts


def shared_in_a_group(weights, group):
    for weight in weights:
        work = dist.all_reduce(weight, group=group, async_op=True)
    print("started")
    dist.barrier(group)
    return weights


def stepped_behind_a_barrier(grad, optimizer):
    dist.all_reduce(grad, async_op=True)
    dist.barrier()
    optimizer.step()


def copied_for_nobody(flags):
    # fairscale 146f160 fairscale/optim/grad_scaler.py:255: the copy was meant to be kept
    for flag in flags:
        there = flag.cuda()
        work = dist.all_reduce(there, async_op=True)
        there.cpu()
    work.wait()


def copied_too_early(flag):
    there = flag.cuda()
    work = dist.all_reduce(there, async_op=True)  # expect: DL109
    flag = there.cpu()
    work.wait()
    return flag


def put_into_a_list(parts, request):
    outs, works = [], []
    for root, part in enumerate(parts):
        out = torch.empty_like(part)
        work = dist.scatter(out, parts, src=root, async_op=True)
        outs.append(out)
        works.append(work)
    request.works, request.outs = works, outs


def sends_a_copy(x, size):
    dist.isend(x[:, -size:].detach().contiguous(), 1)  # expect: DL109
    dist.isend(x.clone(), 1)  # expect: DL109


def sends_what_may_be_the_tensor(x):
    dist.isend(x.contiguous(), 1)  # expect: DL109


def passes_on_what_it_reads(part, steps):
    # Information: what is sent gets no other numbers, the variable does.
    sent, received = part, torch.empty_like(part)
    for _ in range(steps):
        dist.isend(sent, 1)  # expect: DL109
        work = dist.irecv(received, 0)
        print(sent.sum())
        work.wait()
        sent = received.clone()


def passes_on_what_it_writes(part, steps):
    sent = part.clone()
    for _ in range(steps):
        dist.isend(sent, 1)  # expect: DL109
        sent += 1


def waits_for_what_it_passes_on(part, steps):
    sent = part.clone()
    for _ in range(steps):
        work = dist.isend(sent, 1)
        print(sent.sum())
        work.wait()
        sent += 1


def waits_for_both(part, received):
    works = [dist.isend(part, 1), dist.irecv(received, 0)]
    for work in works:
        work.wait()
