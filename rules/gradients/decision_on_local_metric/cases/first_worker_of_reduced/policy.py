import torch.distributed as dist


class Policy:
    def update_policy(self, data):
        loss = self.model(data.batch).mean()
        loss.backward()
        metrics = {"loss": loss.item()}
        dist.all_gather_object([None] * dist.get_world_size(), metrics)
        return metrics
