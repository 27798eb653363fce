import torch
from mmengine.registry import LOOPS
from mmengine.runner import ValLoop


@LOOPS.register_module()
class Exporting(ValLoop):
    def run(self):
        for place, batch in enumerate(self.dataloader):
            self.run_iter(place, batch)
        self.keep()

    def keep(self):
        torch.save(self.runner.model.state_dict(), f"{self.runner.work_dir}/net.pth")  # expect: DL301
