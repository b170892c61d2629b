"""tokamak in JAX: programs as functions of JAX, also inside jax.jit.

    import jax, tokamak.jax

    @jax.jit
    def step(x):
        y, = tokamak.jax.call(fd, x * 2)
        return y.sum()
"""
from ._call import call

__all__ = ["call"]
