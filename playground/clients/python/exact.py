"""A plugin of the generator. Methods take what the operation takes, and no `**kwargs: Any` beside it; subscriptions are
generators that close what they read from, so that a caller may leave them with `contextlib.aclosing`."""

import ast

from ariadne_codegen.plugins.base import Plugin


class Exact(Plugin):
    def generate_client_module(self, module: ast.Module) -> ast.Module:
        module.body.insert(0, ast.ImportFrom("contextlib", [ast.alias("aclosing")], 0))
        _Exact().visit(module)
        return ast.fix_missing_locations(module)


class _Exact(ast.NodeTransformer):
    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        for name in node.names:
            name.name = "AsyncGenerator" if name.name == "AsyncIterator" else name.name
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.args.kwarg = None
        match node.returns:
            case ast.Subscript(value=ast.Name(id="AsyncIterator"), slice=event):
                pair = ast.Tuple([event, ast.Constant(None)], ast.Load())
                node.returns = ast.Subscript(ast.Name("AsyncGenerator", ast.Load()), pair, ast.Load())
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [keyword for keyword in node.keywords if keyword.arg is not None]
        return self.generic_visit(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        self.generic_visit(node)
        closing = ast.Call(ast.Name("aclosing", ast.Load()), [node.iter], [])
        node.iter = ast.Name("events", ast.Load())
        return ast.AsyncWith([ast.withitem(closing, ast.Name("events", ast.Store()))], [node])
