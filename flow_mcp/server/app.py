"""From tables of tools, prompts and resources to one MCP server that speaks both protocol eras.

Built on the SDK's low-level server: schemas, the words of every refusal and the shape of every answer are ours.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

import mcp_types as mt
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from flow_mcp import __version__
from flow_mcp.server.arguments import nearest, shown
from flow_mcp.server.asking import Asked
from flow_mcp.server.desk import Desk, PromptRow, Reply, ResourceRow, ToolRow
from flow_mcp.server.guard import Failed, Remembering, plain_refusals, settled
from flow_mcp.server.reply import clean, failure, result
from flow_mcp.server.session import WireSession

NAME: Final = "flow"
"""What hosts put before each tool's name: short, and without an underscore, at which some of them split."""

SHOWN_BYTES_MAX: Final = 2_048
"""Hosts cut longer instructions, and longer descriptions of a tool."""

TOOL_META: Final = {"anthropic/alwaysLoad": True}
"""Keeps the host that reads it from hiding the tools behind a search."""

_TOOL_NAME = re.compile(r"[a-z][a-z_]{0,29}")
_Context = ServerRequestContext[Any, Any]
_Page = mt.PaginatedRequestParams | None


def build(
    tools: Sequence[ToolRow],
    desk: Desk,
    instructions: str,
    *,
    prompts: Sequence[PromptRow] = (),
    resources: Sequence[ResourceRow] = (),
) -> Server[Any]:
    """Return the server of a desk.

    Lists keep the order of the tables and never change while the server runs, and it says so. What has an empty
    table is not offered at all.

    Args:
        tools: the tools; those that are not `listed` can be called but are not shown.
        desk: answers the calls.
        instructions: what the server is for, shown to every model once.
        prompts: the prompts of `desk.prompt`.
        resources: what `desk.read` can be asked for, templates too.

    Raises:
        ValueError: a row breaks a rule of the tables; the message names it.
    """
    _check(tools, instructions)
    app = _App(tools, desk, prompts, resources)
    server: Server[Any] = Server(
        NAME,
        version=__version__,
        instructions=instructions,
        on_list_tools=app.list_tools,
        on_call_tool=app.call_tool,
        on_list_prompts=app.list_prompts if prompts else None,
        on_get_prompt=app.get_prompt if prompts else None,
        on_list_resources=app.list_resources if resources else None,
        on_list_resource_templates=app.list_templates if resources else None,
        on_read_resource=app.read_resource if resources else None,
    )
    # In place of the SDK's own telemetry: Flow sends nothing anywhere.
    server.middleware[:] = [plain_refusals, Remembering(NAME)]
    return server


class _App:
    """The handlers, one a method of the protocol."""

    def __init__(
        self,
        tools: Sequence[ToolRow],
        desk: Desk,
        prompts: Sequence[PromptRow],
        resources: Sequence[ResourceRow],
    ) -> None:
        self._desk = desk
        self._tools = [_tool(row) for row in tools if row.listed]
        self._callable = frozenset(row.name for row in tools)
        self._prompts = {row.name: row for row in prompts}
        self._resources = resources

    async def list_tools(self, _context: _Context, page: _Page) -> mt.ListToolsResult:
        _one_page(page)
        return mt.ListToolsResult(tools=self._tools)

    async def call_tool(
        self, context: _Context, params: mt.CallToolRequestParams
    ) -> mt.CallToolResult | mt.InputRequiredResult:
        if params.name not in self._callable:
            said = _unknown("tool", params.name, (tool.name for tool in self._tools))
            return result(Reply({"summary": said}, is_error=True))
        try:
            answer = await settled(self._called(context, params))
        except Asked as asked:
            return asked.needed
        return result(failure(answer.error)) if isinstance(answer, Failed) else answer

    async def _called(self, context: _Context, params: mt.CallToolRequestParams) -> mt.CallToolResult:
        session = WireSession(context, params)
        return result(await self._desk.call(params.name, params.arguments or {}, session))

    async def list_prompts(self, _context: _Context, page: _Page) -> mt.ListPromptsResult:
        _one_page(page)
        return mt.ListPromptsResult(prompts=[_prompt(row) for row in self._prompts.values()])

    async def get_prompt(self, _context: _Context, params: mt.GetPromptRequestParams) -> mt.GetPromptResult:
        row = self._prompts.get(params.name)
        if row is None:
            _refuse(_unknown("prompt", params.name, self._prompts))
        given = params.arguments or {}
        _check_prompt_arguments(row, given)
        text = await settled(self._desk.prompt(row.name, given))
        if isinstance(text, Failed):
            raise _broken(text)
        message = mt.PromptMessage(role="user", content=mt.TextContent(text=clean(text)))
        return mt.GetPromptResult(description=row.description, messages=[message])

    async def list_resources(self, _context: _Context, page: _Page) -> mt.ListResourcesResult:
        _one_page(page)
        rows = [row for row in self._resources if not row.is_template]
        found = [mt.Resource(uri=row.uri, name=row.name, title=row.title, mime_type=row.mime) for row in rows]
        return mt.ListResourcesResult(resources=found)

    async def list_templates(self, _context: _Context, page: _Page) -> mt.ListResourceTemplatesResult:
        _one_page(page)
        found = [
            mt.ResourceTemplate(uri_template=row.uri, name=row.name, title=row.title, mime_type=row.mime)
            for row in self._resources
            if row.is_template
        ]
        return mt.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(self, _context: _Context, params: mt.ReadResourceRequestParams) -> mt.ReadResourceResult:
        text = await settled(self._desk.read(params.uri))
        if isinstance(text, Failed):
            raise _broken(text)
        if text is None:
            said = f"There is no resource {shown(params.uri)}."
            raise MCPError(mt.INVALID_PARAMS, said, {"uri": params.uri})
        contents = mt.TextResourceContents(uri=params.uri, mime_type=self._mime(params.uri), text=clean(text))
        return mt.ReadResourceResult(contents=[contents])

    def _mime(self, uri: str) -> str:
        """Return the type of the row that a uri is of: its own, or the template it was made from."""
        made = (row.mime for row in self._resources if uri.startswith(row.uri.partition("{")[0]))
        own = (row.mime for row in self._resources if row.uri == uri)
        return next(own, next(made, "text/plain"))


def _check(tools: Sequence[ToolRow], instructions: str) -> None:
    if len(instructions.encode()) > SHOWN_BYTES_MAX:
        message = f"The instructions are longer than {SHOWN_BYTES_MAX} bytes."
        raise ValueError(message)
    for row in tools:
        if not _TOOL_NAME.fullmatch(row.name):
            message = f"{row.name!r} is no name for a tool: 1 to 30 of a-z and _."
            raise ValueError(message)
        if len(row.description.encode()) > SHOWN_BYTES_MAX:
            message = f"The description of {row.name} is longer than {SHOWN_BYTES_MAX} bytes."
            raise ValueError(message)


def _tool(row: ToolRow) -> mt.Tool:
    hints = mt.ToolAnnotations(
        read_only_hint=row.read_only,
        destructive_hint=row.destructive,
        idempotent_hint=row.idempotent,
        open_world_hint=False,
    )
    return mt.Tool(
        name=row.name,
        title=row.title,
        description=row.description,
        input_schema=dict(row.schema),
        annotations=hints,
        _meta=TOOL_META,
    )


def _prompt(row: PromptRow) -> mt.Prompt:
    arguments = [
        mt.PromptArgument(name=one.name, description=one.description, required=one.required) for one in row.arguments
    ]
    return mt.Prompt(name=row.name, title=row.title, description=row.description, arguments=arguments)


def _check_prompt_arguments(row: PromptRow, given: dict[str, str]) -> None:
    known = [argument.name for argument in row.arguments]
    for name in given:
        if name not in known:
            _refuse(_unknown("argument", name, known))
    for argument in row.arguments:
        if argument.required and argument.name not in given:
            _refuse(f"The prompt {row.name} needs `{argument.name}`: {argument.description}")


def _one_page(page: _Page) -> None:
    """Refuse a cursor: every list is one page, so no cursor is of ours."""
    if page is not None and page.cursor is not None:
        _refuse("The list has one page: ask for it without a cursor.")


def _unknown(kind: str, name: str, names: Iterable[str]) -> str:
    """Return the sentence on a name that is none, with the one that was likely meant."""
    known = [*names]
    likely = nearest(name, known)
    hint = f"did you mean `{likely}`?" if likely else f"there is {', '.join(f'`{one}`' for one in known) or 'none'}."
    return f"There is no {kind} {shown(name)}; {hint}"


def _refuse(sentence: str) -> NoReturn:
    raise MCPError(mt.INVALID_PARAMS, sentence)


def _broken(failed: Failed) -> MCPError:
    return MCPError(mt.INTERNAL_ERROR, str(failure(failed.error).body["summary"]))
