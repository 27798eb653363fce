from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="ops",
    ext_modules=[CUDAExtension(name="fused_ops", sources=["fused.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
