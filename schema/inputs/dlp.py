"""What is said of the policy against leaks."""

import strawberry

from schema.types.enums import Classification, DlpAction


@strawberry.input(description="What is to be done with texts of a class.")
class ClassPolicyInput:
    classification: Classification = strawberry.field(description="The class.")
    action: DlpAction = strawberry.field(description="What is done.")
