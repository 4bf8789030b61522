"""How Django writes the forms of the pages: `{{ form }}`, and `{{ field.as_field_group }}` for one field of it."""

from django.forms.renderers import TemplatesSetting


class FormRenderer(TemplatesSetting):
    form_template_name = "includes/form.html"
    field_template_name = "includes/field.html"
