import torch
from mmengine.dist import master_only
from mmengine.registry import LOOPS
from mmengine.runner import ValLoop


@LOOPS.register_module()
class Exporting(ValLoop):
    def run(self):
        for place, batch in enumerate(self.dataloader):
            self.run_iter(place, batch)
        self.keep_once()

    @master_only
    def keep_once(self):
        torch.save(self.runner.model.state_dict(), f"{self.runner.work_dir}/last.pth")
