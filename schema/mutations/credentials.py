"""Keys of programs, and the revocation of tokens."""

from typing import Annotated

import strawberry

from app.domain.principal import Permission, parse_id
from app.identity.api_keys import create_api_key, revoke_api_key
from app.identity.revocation import revoke_tokens
from schema.context import Info
from schema.inputs.credentials import CreateApiKeyInput
from schema.permissions import needs
from schema.scalars import Instant
from schema.types.credentials import ApiKey, CreatedApiKey, RevokedTokens


@strawberry.type
class CredentialMutations:
    @needs(Permission.ADMIN)
    @strawberry.mutation(
        description=(
            "Make a key for a program. Needs the permission, and each action of the key, on each of its spaces: no key "
            "reaches further than who makes it. At most 100 keys of one maker stand, with those that were made with "
            "these."
        )
    )
    async def create_api_key(
        self, info: Info, input: Annotated[CreateApiKeyInput, strawberry.argument(description="The new key.")]
    ) -> CreatedApiKey:
        services, principal = info.context.services, info.context.principal
        key, secret = await create_api_key(services.database, principal, input.wanted)
        return CreatedApiKey(api_key=ApiKey.of(key), secret=secret)

    @needs(Permission.ADMIN)
    @strawberry.mutation(
        description=(
            "From now on the key, and all keys that were made with it, count for nothing, in every process. Needs the "
            "permission on each of its spaces. A key cannot revoke itself."
        )
    )
    async def revoke_api_key(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Id of the key.")]
    ) -> ApiKey:
        services, principal = info.context.services, info.context.principal
        return ApiKey.of(await revoke_api_key(services.database, principal, parse_id(str(id))))

    @needs(Permission.ORG_ADMIN)
    @strawberry.mutation(
        description=(
            "From now on one token, or all tokens of a subject that were issued before a moment, count for nothing, in "
            "every process. It cannot be taken back."
        )
    )
    async def revoke_tokens(
        self,
        info: Info,
        token_id: Annotated[
            strawberry.ID | None, strawberry.argument(description="The `jti` of the one token.")
        ] = None,
        subject: Annotated[
            str | None, strawberry.argument(description="Whose tokens: the subject that they name.")
        ] = None,
        issued_before: Annotated[
            Instant | None,
            strawberry.argument(
                description="Of the subject's tokens those issued before this: now by default, not in the future. "
                "Tokens that do not say when they were issued are revoked too."
            ),
        ] = None,
    ) -> RevokedTokens:
        services, principal = info.context.services, info.context.principal
        before = await revoke_tokens(
            services.database,
            principal,
            token_id=None if token_id is None else str(token_id),
            subject=subject,
            issued_before=issued_before,
        )
        return RevokedTokens(token_id=token_id, subject=subject, issued_before=before)
